/* The cache of unpacked roots: images/DIGEST/rootfs in cordon's store, and images/files/…, which remembers the digests of archives
 * that were not changed since. One that was left half unpacked is swept by the next. */
#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/place.h"
#include "base/scope.h"
#include "base/sha256.h"
#include "base/str.h"
#include "image/internal.h"
#include "store/store.h"

/* The file as the kernel knows it: whoever changes it changes its stamp. */
static int digest_of(int files, int fd, const struct stat *st, char out[SHA256_HEX], struct err *e)
{
	autoclean(free_done) char *name = str_format("%llx-%llx-%llx-%llx.%lx", (unsigned long long)st->st_dev,
						     (unsigned long long)st->st_ino, (unsigned long long)st->st_size,
						     (unsigned long long)st->st_ctim.tv_sec, (unsigned long)st->st_ctim.tv_nsec);
	autoclean(buf_done) struct buf known = BUF_MAX(SHA256_HEX);
	if (!name)
		return err_nomem(e);
	if (store_read(files, name, &known) == 0 && known.size == SHA256_HEX - 1 &&
	    strspn(buf_text(&known), "0123456789abcdef") == known.size) {
		memcpy(out, buf_text(&known), SHA256_HEX);
		return 0;
	}
	uint8_t digest[SHA256_SIZE];
	int result = sha256_file(fd, digest);
	if (result < 0)
		return err_set(e, ERR_IO, -result, "image", "cannot read the archive");
	sha256_hex(digest, out);
	store_write(files, name, out, SHA256_HEX - 1); /* without it the next run counts again */
	return 0;
}

static int unpack_into(int folder, int fd, uint64_t size, struct err *e)
{
	autoclean(layers_done) struct layers layers = { 0 };
	TRY(image_find_layers(fd, size, &layers, e));
	if (mkdirat(folder, "rootfs", 0755) < 0)
		return err_set(e, ERR_IO, errno, "image", "cannot make a folder for the root");
	autoclean(fd_done) int root = openat(folder, "rootfs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root < 0 || fchmod(root, 0755) < 0)
		return err_set(e, ERR_IO, errno, "image", "cannot open the folder for the root");
	struct unpacking u = { .root = root };
	for (size_t i = 0; i < layers.count; i++)
		TRY(layer_unpack(&u, fd, &layers.v[i], e));
	return u.members > 0 ? 0 : err_set(e, ERR_CONFIG, 0, "image", "the archive is empty");
}

static int unpack(int room, const char *digest, int fd, uint64_t size, struct err *e)
{
	autoclean(free_done) char *name = str_format(STORE_UNFINISHED "%.16s-%d", digest, (int)getpid());
	autoclean(fd_done) int folder = -1;
	if (!name)
		return err_nomem(e);
	fd_remove_tree(room, name);
	/* Open for all: a run as another user must be able to walk through; what is above is closed. */
	folder = store_make_unfinished(room, name, 0755);
	int result = folder < 0 ? err_set(e, ERR_IO, -folder, "image", "cannot make a folder for the root")
				: unpack_into(folder, fd, size, e);
	if (result == 0 && renameat(room, name, room, digest) < 0 && errno != EEXIST && errno != ENOTEMPTY)
		result = err_set(e, ERR_IO, errno, "image", "cannot finish the folder of the root");
	fd_remove_tree(room, name); /* half made, or somebody else was faster */
	return result;
}

static int open_archive(const char *file, int *ret, struct stat *st, struct err *e)
{
	autoclean(fd_done) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, st) < 0)
		return err_set(e, ERR_USAGE, errno, "image", "cannot open %s", file);
	if (!S_ISREG(st->st_mode))
		return err_set(e, ERR_USAGE, 0, "image", "%s is no file", file);
	*ret = TAKE_FD(fd);
	return 0;
}

int image_unpack(const char *file, char **ret_directory, struct err *e)
{
	autoclean(fd_done) int fd = -1;
	autoclean(fd_done) int room = -1;
	autoclean(fd_done) int files = -1;
	struct stat st;
	char digest[SHA256_HEX];
	TRY(open_archive(file, &fd, &st, e));
	TRY(store_open("images", &room, e));
	TRY(store_open("images/files", &files, e));
	TRY(digest_of(files, fd, &st, digest, e));
	autoclean(free_done) char *place = store_place(STORE_STATE);
	autoclean(free_done) char *directory = place ? str_format("%s/images/%s/rootfs", place, digest) : NULL;
	if (!directory)
		return err_nomem(e);
	if (faccessat(room, digest, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		store_sweep(room);
		TRY(unpack(room, digest, fd, (uint64_t)st.st_size, e));
	}
	*ret_directory = TAKE(directory);
	return 0;
}
