# expect: blocked | attribute cr_frame
async def f(): pass
c = f()
print("ESCAPED", c.cr_frame)
