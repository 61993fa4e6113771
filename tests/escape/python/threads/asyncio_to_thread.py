# expect: blocked | Import not whitelisted: asyncio
import asyncio
asyncio.run(asyncio.to_thread(print, "ESCAPED"))
