# expect: SyntaxError | SyntaxError: unknown encoding: utf-7
# coding: utf-7
print("ESC" "APED"[:0])
