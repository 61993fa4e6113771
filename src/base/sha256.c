#include "base/sha256.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static const uint32_t rounds[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
	0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
	0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
	0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, int by)
{
	return x >> by | x << (32 - by);
}

static void mix(uint32_t state[8], const uint8_t block[64])
{
	uint32_t w[64], v[8];
	for (int i = 0; i < 16; i++) {
		memcpy(&w[i], block + 4 * i, 4);
		w[i] = be32toh(w[i]);
	}
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
	}
	memcpy(v, state, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]), majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
		uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + choice + rounds[i] + w[i];
		uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + majority;
		memmove(v + 1, v, 7 * sizeof v[0]);
		v[4] += one;
		v[0] = one + two;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_begin(struct sha256 *s)
{
	*s = (struct sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
					 0x5be0cd19 } };
}

void sha256_add(struct sha256 *s, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	size_t used = s->total % 64;
	s->total += size;
	while (size > 0) {
		size_t take = 64 - used < size ? 64 - used : size;
		memcpy(s->block + used, at, take);
		used += take;
		at += take;
		size -= take;
		if (used == 64) {
			mix(s->state, s->block);
			used = 0;
		}
	}
}

void sha256_end(struct sha256 *s, uint8_t out[SHA256_SIZE])
{
	static const uint8_t padding[64] = { 0x80 };
	uint64_t bits = htobe64(s->total * 8);
	size_t used = s->total % 64;
	sha256_add(s, padding, used < 56 ? 56 - used : 120 - used);
	sha256_add(s, &bits, sizeof bits);
	for (int i = 0; i < 8; i++) {
		uint32_t word = htobe32(s->state[i]);
		memcpy(out + 4 * i, &word, 4);
	}
}

void sha256_hex(const uint8_t digest[SHA256_SIZE], char out[SHA256_HEX])
{
	for (size_t i = 0; i < SHA256_SIZE; i++) {
		out[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		out[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	out[SHA256_HEX - 1] = '\0';
}

int sha256_file(int fd, uint8_t out[SHA256_SIZE])
{
	struct sha256 s;
	char bytes[32 * 1024];
	sha256_begin(&s);
	for (off_t at = 0;;) {
		ssize_t got = pread(fd, bytes, sizeof bytes, at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		sha256_add(&s, bytes, (size_t)got);
		at += got;
	}
	sha256_end(&s, out);
	return 0;
}
