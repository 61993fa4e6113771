# expect: AttributeError | AttributeError: module '<typing>' has no attribute 'sys'
# Modules that whitelisted ones have imported do not show.
import typing
typing.sys.modules["os"].system("echo ESCAPED")
print("ESCAPED")
