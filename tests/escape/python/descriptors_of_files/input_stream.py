# expect: blocked | Blocked: input not allowed, programs have no terminal
# There is no standard input to read from.
print(input())
