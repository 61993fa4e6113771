# expect: blocked | Import not whitelisted: concurrent
from concurrent.futures import ThreadPoolExecutor
ThreadPoolExecutor().submit(print, "ESCAPED")
