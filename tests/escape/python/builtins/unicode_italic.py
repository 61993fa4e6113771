# expect: blocked | eval/exec/compile
𝑒𝓍𝑒𝒸("1")
print("ESCAPED")
