# expect: ok | harmless
# imports: data
import copy
class A:
    def __reduce_ex__(self, p): return (print, ("harmless",))
copy.copy(A())
