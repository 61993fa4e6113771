/* Another userland for a run: a directory, or an archive that is unpacked once into cordon's store. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/path_set.h"
#include "base/scope.h"
#include "engine/internal.h"
#include "image/image.h"
#include "kernel/rootfs.h"
#include "policy/secrets.h"

/* The whole tree is shown: one that holds keys, or the host itself, is no image. */
static int refuse_secrets(const char *directory, struct err *e)
{
	autoclean(secrets_done) struct secrets secrets = { 0 };
	if (secrets_gather(getenv("HOME"), &secrets) < 0)
		return err_nomem(e);
	const char *why = secrets_protect(&secrets, directory, false);
	if (!why)
		why = secrets_below(&secrets, directory, false);
	if (!why)
		return 0;
	err_set(e, ERR_REFUSED, 0, "rootfs", "%s cannot be a root: what is always protected lies there (%s)", directory, why);
	return err_hint(e, -EPERM, "name the directory of an unpacked image, with nothing else in it");
}

static int check_directory(const char *directory, struct err *e)
{
	TRY(refuse_secrets(directory, e));
	return cow_refuse_mounts("rootfs", directory, e);
}

/* Denials beat every grant: an image that is denied, or something in it, is not shown. */
static int refuse_denied(const struct policy *policy, const char *rootfs, struct err *e)
{
	for (size_t i = 0; i < policy->denied_paths.n; i++) {
		const char *denied = policy->denied_paths.v[i];
		if (!path_is_within(rootfs, denied) && !path_is_within(denied, rootfs))
			continue;
		err_set(e, ERR_REFUSED, 0, "rootfs", "%s cannot be a root: %s is denied", rootfs, denied);
		return err_hint(e, -EPERM, "name another directory or archive, or take the path out of deniedPaths");
	}
	return 0;
}

int rootfs_prepare(const struct request *request, const struct policy *policy, struct command *command, struct err *e)
{
	struct stat st;
	if (!request->rootfs)
		return 0;
	TRY(refuse_denied(policy, request->rootfs, e));
	if (stat(request->rootfs, &st) < 0)
		return err_set(e, ERR_USAGE, errno, "rootfs", "cannot look at %s", request->rootfs);
	autoclean(free_done) char *directory = NULL;
	if (S_ISDIR(st.st_mode)) {
		TRY(check_directory(request->rootfs, e));
		directory = strdup(request->rootfs);
	} else {
		autoclean(free_done) char *unpacked = NULL;
		TRY(image_unpack(request->rootfs, &unpacked, e));
		TRY(path_resolve(unpacked, "/", NULL, NULL, &directory, e));
	}
	command->rootfs_named = strdup(request->rootfs);
	command->rootfs = TAKE(directory);
	return command->rootfs && command->rootfs_named ? 0 : err_nomem(e);
}

/* What stands for the image's tree, or is the image. */
static bool is_of_image(const struct command *command, const char *path)
{
	for (size_t i = 0; i < world_part_count(); i++)
		if (strcmp(path, world_part(i)) == 0)
			return true;
	return strcmp(path, "/") == 0 || strcmp(path, command->rootfs_named) == 0;
}

/* What was granted of the host is shown over the image's tree. */
int rootfs_mode(const struct command *command, const struct policy *policy, const char *path)
{
	struct stat st;
	bool of_host = paths_cover(&policy->write_paths, path);
	for (size_t i = 0; i < policy->read_paths.n && !of_host; i++)
		of_host = path_is_within(path, policy->read_paths.v[i]) && !is_of_image(command, policy->read_paths.v[i]);
	if (of_host)
		return stat(path, &st) < 0 ? -errno : (int)st.st_mode;
	int result = rootfs_look(command->rootfs, path, &st);
	return result < 0 ? result : (int)st.st_mode;
}

void rootfs_guarded(const struct request *request, const struct policy *policy, struct policy_view *ret)
{
	*ret = (struct policy_view){ .policy = *policy, .root = "/" };
	ret->everything[0] = ret->root;
	if (request->rootfs && !policy->read_only_root)
		ret->policy.write_paths = (struct strv){ ret->everything, 1, 2 };
}
