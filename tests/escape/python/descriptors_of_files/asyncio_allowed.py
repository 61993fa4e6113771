# expect: PermissionError | PermissionError: [Errno 1] Operation not permitted
# allow: asyncio
# Its loop wants a selector and a pair of sockets.
import asyncio
async def main(): print("ESCAPED")
asyncio.run(main())
