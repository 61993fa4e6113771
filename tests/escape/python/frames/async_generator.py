# expect: blocked | attribute ag_frame
async def f(): yield 1
print("ESCAPED", f().ag_frame)
