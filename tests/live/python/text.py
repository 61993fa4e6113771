# imports: data
import string, textwrap, difflib
print(string.ascii_letters, string.Template("$a b").substitute(a=1), textwrap.fill("a b c d e f", 5), list(difflib.ndiff(["a"], ["b"])), difflib.get_close_matches("appel", ["apple", "pear"]))
