/* Root file systems from archives, good ones and hostile ones. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/scope.h"
#include "base/sha256.h"
#include "base/str.h"
#include "image/image.h"

static char top[64];

static int begin(void **state)
{
	(void)state;
	snprintf(top, sizeof top, "%s", "/tmp/image-XXXXXX");
	umask(022);
	return mkdtemp(top) ? setenv("XDG_STATE_HOME", top, 1) : -1;
}

static int end(void **state)
{
	(void)state;
	return fd_remove_tree(AT_FDCWD, top);
}

/* ---- a small tar ---- */
static void put_header(struct buf *out, const char *name, char type, unsigned mode, const char *target, uint64_t size)
{
	unsigned char header[513] = { 0 };
	unsigned sum = 0;
	memcpy(header, name, strnlen(name, 100));
	snprintf((char *)header + 100, 8, "%07o", mode & 07777777);
	snprintf((char *)header + 124, 12, "%011llo", (unsigned long long)size & 077777777777);
	memset(header + 148, ' ', 8);
	header[156] = (unsigned char)type;
	memcpy(header + 157, target, strnlen(target, 100));
	memcpy(header + 257, "ustar\00000", 8);
	for (int i = 0; i < 512; i++)
		sum += header[i];
	snprintf((char *)header + 148, 8, "%06o", sum & 0777777);
	buf_add(out, header, 512);
}

static void put(struct buf *out, const char *name, char type, unsigned mode, const char *target, const void *bytes, size_t size)
{
	static const char zeros[512];
	put_header(out, name, type, mode, target, size);
	buf_add(out, bytes, size);
	buf_add(out, zeros, (512 - size % 512) % 512);
}

static void put_file(struct buf *out, const char *name, const char *text)
{
	put(out, name, '0', 0644, "", text, strlen(text));
}

static void put_end(struct buf *out)
{
	static const char zeros[1024];
	buf_add(out, zeros, sizeof zeros);
}

static int unpack(const struct buf *archive, char **ret, struct err *e)
{
	autoclean(free_done) char *path = str_format("%s/archive.tar", top);
	unlink(path);
	autoclean(fd_done) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_int_equal(fd_write_all(fd, archive->data, archive->size), 0);
	return image_unpack(path, ret, e);
}

static void assert_text(const char *root, const char *path, const char *want)
{
	autoclean(free_done) char *full = str_format("%s/%s", root, path);
	autoclean(buf_done) struct buf text = BUF_MAX(1 << 20);
	assert_int_equal(fd_read_file(full, &text), 0);
	assert_string_equal(buf_text(&text), want);
}

static bool exists(const char *root, const char *path)
{
	struct stat st;
	autoclean(free_done) char *full = str_format("%s/%s", root, path);
	return lstat(full, &st) == 0;
}

static void test_root(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf tar = BUF_MAX(1 << 20);
	autoclean(free_done) char *root = NULL;
	autoclean(free_done) char *again = NULL;
	struct err e = { 0 };
	char longer[200];
	memset(longer, 'n', sizeof longer);
	longer[sizeof longer - 1] = '\0';
	put(&tar, "./", '5', 0755, "", "", 0);
	put(&tar, "./etc/", '5', 0700, "", "", 0);
	put_file(&tar, "./etc/issue", "hello\n");
	put(&tar, "bin", '2', 0777, "usr/bin", "", 0);
	put(&tar, "usr/bin/sh", '0', 04755, "", "#!", 2); /* its directories are not in the archive */
	put(&tar, "usr/bin/bash", '1', 0755, "usr/bin/sh", "", 0);
	put(&tar, "dev/null", '3', 0666, "", "", 0);
	put(&tar, "././@LongLink", 'L', 0644, "", longer, sizeof longer);
	put_file(&tar, "cut", "long\n");
	put(&tar, "pax", 'x', 0644, "", "20 path=name/of/pax\n", 20);
	put_file(&tar, "cut", "pax\n");
	put_file(&tar, "etc/issue", "twice\n");
	put_end(&tar);
	assert_int_equal(unpack(&tar, &root, &e), 0);
	assert_text(root, "etc/issue", "twice\n");
	assert_text(root, "name/of/pax", "pax\n");
	assert_text(root, longer, "long\n");
	assert_text(root, "bin/bash", "#!");
	assert_false(exists(root, "dev/null"));
	struct stat st;
	autoclean(free_done) char *sh = str_format("%s/usr/bin/sh", root);
	assert_int_equal(stat(sh, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(st.st_nlink, 2);
	/* The same bytes in another file: the same root, and it is not unpacked again. */
	autoclean(free_done) char *mark = str_format("%s/mark", root);
	close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	assert_int_equal(unpack(&tar, &again, &e), 0);
	assert_string_equal(root, again);
	assert_true(exists(again, "mark"));
}

/* Each is refused, and nothing is left of it. */
static void refuse(const struct buf *tar, const char *why)
{
	struct err e = { 0 };
	char *root = NULL;
	if (unpack(tar, &root, &e) == 0)
		print_message("taken: %s\n", why);
	assert_null(root);
	assert_true(e.code != ERR_NONE && e.message[0]);
	autoclean(free_done) char *images = str_format("%s/cordon/images", top);
	struct stat st;
	assert_int_equal(stat(images, &st), 0);
	assert_int_equal(st.st_nlink, 3); /* itself, its name, and the folder of known files */
}

static void test_hostile(void **state)
{
	(void)state;
	static const struct {
		const char *name, *target;
		char type;
	} members[] = {
		{ "../escape", "", '0' },       { "/etc/passwd", "", '0' }, { "a/../../escape", "", '0' },
		{ "hard", "/etc/passwd", '1' }, { "hard", "../x", '1' },    { "hard", "no-such", '1' },
		{ "name\n", "", '0' },          { "name\033[m", "", '0' },  { "\xff\xfe", "", '0' },
		{ "sparse", "", 'S' },          { "volume", "", 'V' },      { "x", "", 'Z' },
		{ "etc/.wh...", "", '0' },      { ".wh.", "", '0' },
	};
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		autoclean(buf_done) struct buf tar = BUF_MAX(1 << 20);
		put_file(&tar, "first", "x");
		put(&tar, members[i].name, members[i].type, 0644, members[i].target, "", 0);
		put_end(&tar);
		refuse(&tar, members[i].name);
	}
}

static void test_through_links(void **state)
{
	(void)state;
	autoclean(free_done) char *outside = str_format("%s/outside", top);
	assert_int_equal(mkdir(outside, 0755), 0);
	autoclean(buf_done) struct buf tar = BUF_MAX(1 << 20);
	put(&tar, "way", '2', 0777, outside, "", 0);
	put_file(&tar, "way/file", "escaped\n");
	put_end(&tar);
	refuse(&tar, "a file through a link");
	assert_false(exists(outside, "file"));

	autoclean(buf_done) struct buf file = BUF_MAX(1 << 20);
	autoclean(free_done) char *victim = str_format("%s/victim", top);
	autoclean(free_done) char *root = NULL;
	close(open(victim, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	put(&file, "link", '2', 0777, victim, "", 0);
	put_file(&file, "link", "over it\n"); /* replaces the link */
	put_end(&file);
	struct err e = { 0 };
	assert_int_equal(unpack(&file, &root, &e), 0);
	struct stat st;
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_text(root, "link", "over it\n");
}

static void test_broken(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf tar = BUF_MAX(1 << 20);
	put_file(&tar, "file", "some text\n");
	put_end(&tar);
	autoclean(buf_done) struct buf damaged = BUF_MAX(1 << 20);
	buf_add(&damaged, tar.data, tar.size);
	damaged.data[3] = 'x';
	refuse(&damaged, "a wrong checksum");
	autoclean(buf_done) struct buf cut = BUF_MAX(1 << 20);
	buf_add(&cut, tar.data, 515);
	refuse(&cut, "cut");
	autoclean(buf_done) struct buf liar = BUF_MAX(1 << 20);
	put_header(&liar, "file", '0', 0644, "", 077777777777);
	put_end(&liar);
	refuse(&liar, "a size that is not there");
	autoclean(buf_done) struct buf empty = BUF_MAX(1 << 20);
	put_end(&empty);
	refuse(&empty, "empty");
	autoclean(buf_done) struct buf text = BUF_MAX(1 << 20);
	buf_add_text(&text, "no archive at all");
	refuse(&text, "text");
}

static void squeeze(const struct buf *plain, struct buf *out)
{
	static unsigned char packed[1 << 20];
	z_stream z = { 0 };
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (unsigned char *)plain->data;
	z.avail_in = (unsigned)plain->size;
	z.next_out = packed;
	z.avail_out = sizeof packed;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_add(out, packed, z.total_out);
	deflateEnd(&z);
}

static void make_layers(struct buf *low, struct buf *high)
{
	put_file(low, "kept", "kept\n");
	put_file(low, "gone", "gone\n");
	put_file(low, "dir/old", "old\n");
	put_file(low, "tree/deep/leaf", "leaf\n");
	put_end(low);
	put_file(high, "dir/new", "new\n");
	put(high, "dir/.wh..wh..opq", '0', 0644, "", "", 0); /* after what it does not mean */
	put(high, ".wh.gone", '0', 0644, "", "", 0);
	put(high, ".wh.tree", '0', 0644, "", "", 0);
	put_end(high);
}

static void assert_layered(const char *root)
{
	assert_text(root, "kept", "kept\n");
	assert_text(root, "dir/new", "new\n");
	assert_false(exists(root, "gone"));
	assert_false(exists(root, "dir/old"));
	assert_false(exists(root, "tree"));
	assert_false(exists(root, "manifest.json"));
}

static void test_docker(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf low = BUF_MAX(1 << 20);
	autoclean(buf_done) struct buf high = BUF_MAX(1 << 20);
	autoclean(buf_done) struct buf tar = BUF_MAX(1 << 20);
	autoclean(free_done) char *root = NULL;
	struct err e = { 0 };
	make_layers(&low, &high);
	put(&tar, "aa/layer.tar", '0', 0644, "", low.data, low.size);
	put(&tar, "bb/layer.tar", '0', 0644, "", high.data, high.size);
	put_file(&tar, "manifest.json",
		 "[{\"Config\":\"c.json\",\"RepoTags\":[\"x:1\"],\"Layers\":[\"aa/layer.tar\",\"bb/layer.tar\"]}]");
	put_end(&tar);
	assert_int_equal(unpack(&tar, &root, &e), 0);
	assert_layered(root);
}

static void put_blob(struct buf *tar, const struct buf *bytes, char digest[SHA256_HEX])
{
	struct sha256 s;
	uint8_t raw[SHA256_SIZE];
	sha256_begin(&s);
	sha256_add(&s, bytes->data, bytes->size);
	sha256_end(&s, raw);
	sha256_hex(raw, digest);
	char name[100];
	snprintf(name, sizeof name, "blobs/sha256/%s", digest);
	put(tar, name, '0', 0644, "", bytes->data, bytes->size);
}

static void make_oci(struct buf *tar, bool damage)
{
	autoclean(buf_done) struct buf low = BUF_MAX(1 << 20);
	autoclean(buf_done) struct buf high = BUF_MAX(1 << 20);
	autoclean(buf_done) struct buf packed = BUF_MAX(1 << 20);
	autoclean(buf_done) struct buf manifest = BUF_MAX(4096);
	autoclean(buf_done) struct buf index = BUF_MAX(4096);
	char first[SHA256_HEX], second[SHA256_HEX], third[SHA256_HEX];
	make_layers(&low, &high);
	squeeze(&low, &packed);
	put_blob(tar, &packed, first);
	put_blob(tar, &high, second);
	if (damage)
		first[0] = first[0] == '0' ? '1' : '0';
	if (damage) { /* under the name that the manifest gives it */
		char name[100];
		snprintf(name, sizeof name, "blobs/sha256/%s", first);
		put(tar, name, '0', 0644, "", packed.data, packed.size);
	}
	buf_add_format(&manifest, "{\"layers\":[{\"digest\":\"sha256:%s\"},{\"digest\":\"sha256:%s\"}]}", first, second);
	put_blob(tar, &manifest, third);
	buf_add_format(&index, "{\"manifests\":[{\"digest\":\"sha256:%s\"}]}", third);
	put_file(tar, "index.json", buf_text(&index));
	put_file(tar, "oci-layout", "{}");
	put_end(tar);
}

static void test_oci(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf tar = BUF_MAX(1 << 20);
	autoclean(free_done) char *root = NULL;
	struct err e = { 0 };
	make_oci(&tar, false);
	assert_int_equal(unpack(&tar, &root, &e), 0);
	assert_layered(root);
}

static void test_oci_digest(void **state)
{
	(void)state;
	autoclean(buf_done) struct buf tar = BUF_MAX(1 << 20);
	make_oci(&tar, true);
	refuse(&tar, "a layer with another digest");
}

static void test_sha256(void **state)
{
	(void)state;
	static const struct {
		const char *text, *hex;
	} rows[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sha256 s;
		uint8_t raw[SHA256_SIZE];
		char hex[SHA256_HEX];
		sha256_begin(&s);
		for (const char *p = rows[i].text; *p; p++)
			sha256_add(&s, p, 1);
		sha256_end(&s, raw);
		sha256_hex(raw, hex);
		assert_string_equal(hex, rows[i].hex);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(root),   TEST(hostile), TEST(through_links), TEST(broken),
					    TEST(docker), TEST(oci),     TEST(oci_digest),    TEST(sha256) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
