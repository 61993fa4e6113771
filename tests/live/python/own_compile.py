import re
def compile(x): return "mine " + x
class T:
    def exec(self): return "method"
    def eval(self, x): return x
print(compile("x"), re.compile("a+").findall("caat"), T().exec(), T().eval(5))
