/* SHA-256 (FIPS 180-4). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32
#define SHA256_HEX (2 * SHA256_SIZE + 1)

struct sha256 {
	uint32_t state[8];
	uint64_t total;
	uint8_t block[64];
};

void sha256_begin(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t size);
void sha256_end(struct sha256 *s, uint8_t out[SHA256_SIZE]);
void sha256_hex(const uint8_t digest[SHA256_SIZE], char out[SHA256_HEX]);

/* Of a whole file, from its beginning. -errno */
int sha256_file(int fd, uint8_t out[SHA256_SIZE]);
