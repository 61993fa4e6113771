# imports: data
import hashlib, base64, uuid
print(hashlib.sha256(b"a").hexdigest(), hashlib.md5(b"a").hexdigest(), hashlib.blake2b(b"a", digest_size=4).hexdigest(), base64.b64encode(b"abc"), uuid.uuid5(uuid.NAMESPACE_DNS, "a.b"), uuid.UUID(int=5))
