# expect: blocked | Blocked: __import__ not allowed
# The guard stays armed while an error is put into words.
class E(Exception):
    def __str__(self):
        return "ESCAPED " + repr(__import__("o" + "s").getcwd())
raise E
