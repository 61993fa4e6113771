/* A directory seen through an overlay: what it takes beforehand, and what becomes of the changes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/scope.h"
#include "engine/internal.h"

/* The fifth word of a line of mountinfo is where something is mounted. */
static bool is_mounted_below(char *line, const char *directory)
{
	char *save = NULL, *word = strtok_r(line, " ", &save);
	for (int i = 0; word && i < 4; i++)
		word = strtok_r(NULL, " ", &save);
	return word && strcmp(word, directory) != 0 && path_is_within(word, directory);
}

/* An overlay shows one file system: what is mounted below would be missing, and nobody would know. */
int cow_refuse_mounts(const char *step, const char *directory, struct err *e)
{
	autoclean(buf_done) struct buf text = BUF_MAX(8 << 20);
	autoclean(fd_done) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	int result = fd < 0 ? -errno : fd_read_all(fd, &text);
	if (result < 0)
		return err_set(e, ERR_IO, -result, step, "cannot see what is mounted");
	char *save = NULL;
	for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!is_mounted_below(line, directory))
			continue;
		err_set(e, ERR_UNSUPPORTED, 0, step, "something is mounted below %s, which an overlay would not show", directory);
		return err_hint(e, -ENOTSUP, "choose a directory without mounts in it; `findmnt` lists them");
	}
	return 0;
}

int cow_prepare(const struct request *request, struct command *command, struct err *e)
{
	if (!request->cow)
		return 0;
	TRY(cow_refuse_mounts("cow", request->cow, e));
	command->cow = strdup(request->cow);
	return command->cow ? 0 : err_nomem(e);
}

/* The command, as it is told by `cordon changes --list`. */
static char *words_of(const struct command *command)
{
	struct buf text = BUF_MAX(512);
	for (size_t i = 0; i < command->argv.n; i++)
		buf_add_format(&text, "%s%.200s", i ? " " : "", command->argv.v[i]);
	text.bad = false; /* cut */
	return buf_take(&text);
}

int cow_keep(struct run *run, struct err *e)
{
	const struct outcome *o = launch_outcome(run->launch);
	if (!run->command.cow || o->kind == OUTCOME_FAILED)
		return 0;
	if (o->upper <= 0)
		return err_set(e, ERR_INTERNAL, 0, "cow", "what the run changed was lost");
	autoclean(free_done) char *words = words_of(&run->command);
	const struct changes_source source = { run->id, run->command.cow, words ? words : "", o->upper, run->began_ns };
	int count = changes_capture(&source, e);
	TRY(count);
	run->changes = (size_t)count;
	return 0;
}

size_t run_changes(const struct run *run)
{
	return run->changes;
}

int64_t cow_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
