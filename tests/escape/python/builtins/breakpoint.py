# expect: blocked | Blocked: breakpoint
breakpoint("1", "x", "exec")
print("ESCAPED")
