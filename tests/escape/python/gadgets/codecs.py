# Codecs are modules that are loaded late: those that were not loaded are not there.
# (What is expected stands in the third line: in the first two it would itself be read as a coding cookie.)
# expect: LookupError | LookupError: unknown encoding: idna
print(b"x".decode("idna"), "x".encode("rot13"))
