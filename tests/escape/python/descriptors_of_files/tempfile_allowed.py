# expect: ok | nothing
# allow: linecache
# A module that reads files by itself reads none.
import linecache
print("ESCAPED" if linecache.getline("/etc/passwd", 1) else "nothing")
