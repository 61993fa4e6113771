# expect: blocked | Blocked: open not allowed, programs have no files
# The classic: a decorator is a call without parentheses.
@print
@set
@open
@lambda _: "/etc/passwd"
class X: pass
