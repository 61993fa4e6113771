# expect: contained
print(b"x".decode("idna"), "x".encode("rot13"))
