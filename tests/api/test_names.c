/* Names that a run at container level must not make, and what of the host a kept jail or a spare has seen: between two runs the
 * names are away, and before each run what was seen is looked at again. */
#include "reuse.h"

/* ---- in a private root ---- */
static const char *names_in_work(void)
{
	static char names[8192];
	char command[4400];
	snprintf(command, sizeof command, "ls -A '%s' | tr '\\n' ' '", work());
	FILE *list = popen(command, "r");
	assert_non_null(list);
	size_t got = fread(names, 1, sizeof names - 1, list);
	names[got] = '\0';
	pclose(list);
	return names;
}

/* "own" would be shared by runs at the same time. */
#define TRY_NAMES_AT_ONCE                                                                                                          \
	"for n in .git .vscode .mcp.json; do rm -rf $n 2>/dev/null && echo removed $n; done; sleep 0.05; test -e .vscode && echo " \
	"held"
#define TRY_NAMES                                                                                                                  \
	"for n in .git .vscode .mcp.json .claude; do rm -rf $n 2>/dev/null && echo removed $n; mv $n other 2>/dev/null && echo "   \
	"moved $n; "                                                                                                               \
	"mkdir -p $n/x 2>/dev/null && echo made $n; (echo x >$n) 2>/dev/null && echo wrote $n; done; "                             \
	"echo x >own && rm own && echo held"

/* The mounts that hold names which do not exist stand on files that are away between two runs. */
static void names_are_held_and_not_left(void **state)
{
	(void)state;
	char before[8192];
	memcpy(before, names_in_work(), sizeof before);
	for (int i = 0; i < 5; i++) {
		assert_string_equal(say(TRY_NAMES), "held");
		assert_string_equal(names_in_work(), before);
	}
	assert_true(is_kept());
	/* Several at once: each is held, and the last one takes them away. */
	struct cordon_run *runs[6];
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < COUNT_OF(runs); i++)
			runs[i] = start(engine, (struct cordon_run_options){ .skip_guard = 1,
									     .policy = level,
									     .argv = ARGV("sh", "-c", TRY_NAMES_AT_ONCE) });
		for (size_t i = 0; i < COUNT_OF(runs); i++) {
			assert_string_equal(finish(runs[i])->output[0], "held\n");
			cordon_run_free(runs[i]);
		}
		assert_string_equal(names_in_work(), before);
	}
}

static void names_are_shared_with_other_engines(void **state)
{
	(void)state;
	char before[8192];
	memcpy(before, names_in_work(), sizeof before);
	struct cordon_engine *other = open_engine();
	warm();
	for (int i = 0; i < 4; i++)
		assert_string_equal(say_with(other, level, TRY_NAMES, NULL), "held");
	for (int i = 0; i < 6; i++) {
		/* Whoever ends last removes what the other one has put there. */
		struct cordon_run *run =
			start(i & 1 ? engine : other, (struct cordon_run_options){ .policy = level, .argv = ARGV("sleep", "0.1") });
		assert_string_equal(say_with(i & 1 ? other : engine, level, TRY_NAMES, NULL), "held");
		finish(run);
		cordon_run_free(run);
		assert_string_equal(names_in_work(), before);
		assert_string_equal(say_with(other, level, TRY_NAMES, NULL), "held");
		assert_string_equal(say(TRY_NAMES), "held");
		assert_string_equal(names_in_work(), before);
	}
	cordon_engine_close(other);
}

/* What others make under such a name meanwhile is theirs, and is held as well. */
static void names_that_come_into_being_are_the_hosts(void **state)
{
	(void)state;
	char before[8192];
	memcpy(before, names_in_work(), sizeof before);
	warm();
	mkdir(in_work(".vscode"), 0777);
	put(in_work(".vscode/tasks"), "theirs");
	for (int i = 0; i < 4; i++)
		assert_string_equal(say("cat .vscode/tasks; " TRY_NAMES), "theirsheld");
	unlink(in_work(".vscode/tasks"));
	rmdir(in_work(".vscode"));
	warm();
	assert_string_equal(say(TRY_NAMES), "held");
	/* And while a run is there, in the placeholder itself. */
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){
				      .policy = level, .argv = ARGV("sh", "-c", ">up; until test -e go; do sleep 0.01; done") });
	for (int i = 0; i < 1000 && access(in_work("up"), F_OK) < 0; i++)
		usleep(10000);
	chmod(in_work(".vimrc"), 0644);
	put(in_work(".vimrc"), "theirs");
	chmod(in_work(".git"), 0755);
	mkdir(in_work(".git/objects"), 0755);
	put(in_work("go"), "");
	finish(run);
	cordon_run_free(run);
	unlink(in_work("go"));
	unlink(in_work("up"));
	assert_non_null(strstr(names_in_work(), ".vimrc"));
	assert_int_equal(rmdir(in_work(".git/objects")), 0);
	assert_int_equal(rmdir(in_work(".git")), 0);
	assert_string_equal(say("cat .vimrc; " TRY_NAMES), "theirsheld");
	assert_int_equal(unlink(in_work(".vimrc")), 0);
	assert_string_equal(say(TRY_NAMES), "held");
	assert_string_equal(names_in_work(), before);
}

static long child_of(long pid)
{
	char path[64];
	long child = 0;
	snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", pid, pid);
	FILE *file = fopen(path, "r");
	if (file && fscanf(file, "%ld", &child) != 1)
		child = 0;
	if (file)
		fclose(file);
	return child;
}

static pid_t trace(long pid, int rename)
{
	char delay[80], number[24], status[64], line[200];
	snprintf(delay, sizeof delay, "inject=renameat2:delay_enter=1000000:when=%d", rename);
	snprintf(number, sizeof number, "%ld", pid);
	snprintf(status, sizeof status, "/proc/%ld/status", pid);
	pid_t tracer = fork();
	if (tracer == 0) {
		execlp("strace", "strace", "-qq", "-o", "/dev/null", "-e", "trace=renameat2", "-e", delay, "-p", number, NULL);
		_exit(127);
	}
	for (int i = 0, traced = 0; i < 300 && !traced; i++) {
		usleep(10000);
		FILE *file = fopen(status, "r");
		while (file && fgets(line, sizeof line, file))
			traced |= strncmp(line, "TracerPid:", 10) == 0 && atoi(line + 10) > 0;
		if (file)
			fclose(file);
	}
	return tracer;
}

/* Between the look at a name and its renaming, which takes its time here. Others may not trace a keeper. */
static void what_is_written_at_the_last_moment_stays(void **state)
{
	(void)state;
	static const char *const names[] = { "refs", ".mcp.json", ".vimrc", ".exrc" };
	if (geteuid() != 0) {
		print_message("# as root only: nobody else can hold a keeper up\n");
		return;
	}
	warm();
	int held = atoi(say("ls -A | wc -l"));
	long keeper_pid = child_of(getpid());
	pid_t tracer = trace(keeper_pid, held + 1); /* all come, and the first goes */
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .policy = level, .argv = ARGV("true") });
	usleep(500000); /* the second is half over */
	for (size_t i = 0; i < COUNT_OF(names); i++)
		put(in_work(names[i]), "theirs");
	finish(run);
	cordon_run_free(run);
	kill(tracer, SIGTERM);
	assert_int_equal(waitpid(tracer, NULL, 0), tracer);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		assert_int_equal(unlink(in_work(names[i])), 0);
	assert_string_equal(names_in_work(), "");
	assert_string_equal(say(TRY_NAMES), "held");
}

/* Names are taken away when the last process is going, if nobody else is left; here somebody is, and waits for that. */
static void who_outlives_the_command_finds_no_free_name(void **state)
{
	(void)state;
	struct cordon_engine *fresh = NULL;
	struct cordon_error error = { 0 };
	struct cordon_engine_options options = {
		.size = sizeof options, .keeper_path = keeper(), .ignore_user_policy = 1, .no_reuse = 1
	};
	char before[8192];
	memcpy(before, names_in_work(), sizeof before);
	assert_int_equal(cordon_engine_open(&options, &fresh, &error), 0);
	for (int i = 0; i < 15; i++) {
		assert_string_equal(say_with(fresh, level,
					     "for n in 1 2; do (while :; do true >.vscode; true >.idea; true >.mcp.json; done) "
					     ">/dev/null 2>&1 & done; echo left",
					     NULL),
				    "left");
		assert_string_equal(names_in_work(), before);
	}
	/* The twin: alone, and the names are held all the same. */
	assert_string_equal(say_with(fresh, level, TRY_NAMES, NULL), "held");
	assert_string_equal(names_in_work(), before);
	cordon_engine_close(fresh);
}

static void directories_that_were_replaced_are_noticed(void **state)
{
	(void)state;
	mkdir(in_work("d"), 0777);
	chmod(in_work("d"), 0777);
	put(in_work("d/f"), "old");
	struct cordon_policy *policy = policy_with("{" CONTAINER ",\"allowedWritePaths\":[\"%s/d\"]}");
	for (int i = 0; i < 3; i++)
		assert_string_equal(say_with(engine, policy, "cat $1/d/f", work()), "old");
	rename(in_work("d"), in_work("d.away"));
	mkdir(in_work("d"), 0777);
	put(in_work("d/f"), "new");
	assert_string_equal(say_with(engine, policy, "cat $1/d/f", work()), "new");
	cordon_policy_free(policy);
	unlink(in_work("d/f"));
	unlink(in_work("d.away/f"));
	rmdir(in_work("d"));
	rmdir(in_work("d.away"));
}

/* ---- what was made ahead ---- */
#define COPIED "/etc/nsswitch.conf" /* of which a private root has a copy */
#define BELOW "/usr/bin/env"
#define MUST(what)                                                                                                                 \
	do {                                                                                                                       \
		if (!(what)) {                                                                                                     \
			fprintf(stderr, "# %d: %s; it said: %s\n", __LINE__, #what, said);                                         \
			_exit(1);                                                                                                  \
		}                                                                                                                  \
	} while (0)

static void map_oneself(const char *name, unsigned id)
{
	char path[64], line[64];
	snprintf(path, sizeof path, "/proc/self/%s", name);
	snprintf(line, sizeof line, "%u %u 1", id, id);
	put(path, line);
}

/* The copied part of /etc becomes a file of our own. */
static void have_own_copied(void)
{
	unsigned uid = geteuid(), gid = getegid();
	put(in_work("copied"), "old");
	put(in_work("other"), "mounted");
	chmod(in_work("copied"), 0644);
	chmod(in_work("other"), 0644);
	MUST(unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) == 0);
	if (uid) {
		put("/proc/self/setgroups", "deny");
		map_oneself("uid_map", uid);
		map_oneself("gid_map", gid);
	}
	MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	MUST(mount(in_work("copied"), COPIED, NULL, MS_BIND, NULL) == 0);
}

/* The only child of our only child: what the keeper makes for the next run, after it has told the end of the last. */
static long made_ahead(long before)
{
	long made = 0;
	for (int i = 0; i < 3000 && (made == 0 || made == before); i++) {
		usleep(1000);
		made = child_of(child_of(getpid()));
	}
	return made;
}

static void look_again(int no_reuse)
{
	struct cordon_engine *ahead = NULL;
	struct cordon_error error = { 0 };
	struct cordon_engine_options options = {
		.size = sizeof options, .keeper_path = keeper(), .ignore_user_policy = 1, .no_reuse = no_reuse
	};
	MUST(cordon_engine_open(&options, &ahead, &error) == 0);
	long before = 0;
	for (int i = 0; i < 3; i++) {
		MUST(strcmp(say_with(ahead, level, "cat " COPIED, NULL), "old") == 0);
		long now = no_reuse || i == 2 ? made_ahead(before) : 1;
		MUST(now > 0 && now != before); /* something is kept; without reuse, for one run */
		before = no_reuse ? now : 0;
	}
	usleep(20000); /* the kernel's clock for files goes by ticks */
	put(in_work("copied"), "new");
	MUST(strcmp(say_with(ahead, level, "cat " COPIED, NULL), "new") == 0);
	MUST(strcmp(say_with(ahead, level, "cat " COPIED, NULL), "new") == 0);
	MUST(mount(in_work("other"), COPIED, NULL, MS_BIND, NULL) == 0);
	MUST(strcmp(say_with(ahead, level, "cat " COPIED, NULL), "mounted") == 0);
	MUST(umount2(COPIED, MNT_DETACH) == 0);
	MUST(strcmp(say_with(ahead, level, "cat " COPIED, NULL), "new") == 0);
	MUST(made_ahead(0) > 0);
	/* Below a system directory, which is what it was. */
	MUST(mount(in_work("other"), BELOW, NULL, MS_BIND, NULL) == 0);
	MUST(strcmp(say_with(ahead, level, "cat " BELOW, NULL), "mounted") == 0);
	MUST(umount2(BELOW, MNT_DETACH) == 0);
	usleep(20000);
	put(in_work("copied"), "old");
	cordon_engine_close(ahead);
}

static void what_was_copied_is_looked_at_again(void **state)
{
	(void)state;
	int status = -1;
	cordon_engine_close(engine);
	engine = NULL;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		have_own_copied();
		look_again(1);
		look_again(0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	unlink(in_work("copied"));
	unlink(in_work("other"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define INSIDE(name) cmocka_unit_test_setup_teardown(name, open_container, close_one)
		INSIDE(names_are_held_and_not_left),
		INSIDE(names_are_shared_with_other_engines),
		INSIDE(names_that_come_into_being_are_the_hosts),
		INSIDE(who_outlives_the_command_finds_no_free_name),
		INSIDE(what_is_written_at_the_last_moment_stays),
		INSIDE(directories_that_were_replaced_are_noticed),
		INSIDE(what_was_copied_is_looked_at_again),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
