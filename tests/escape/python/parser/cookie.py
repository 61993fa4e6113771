# expect: contained
# coding: utf-7
print("ESC" "APED"[:0])
