# expect: blocked | Blocked: breakpoint not allowed
@breakpoint
@lambda _: None
def f(): pass
print("ESCAPED")
