# expect: ok | nothing
# imports: data
# The standard library has locks of its own modules: they lead to no thread.
import functools, random
lock = functools.__dict__.get("RLock") or getattr(functools, "RLock", None) or vars(random).get("_urandom")
print("nothing" if lock is None else "ESCAPED")
