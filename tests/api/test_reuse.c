/* Jails are kept for the next run of the same plan: what does one run leave for the next? Each attack is made in a kept jail, and
 * the run after it looks; the twin shows that the jail was kept, or that what is allowed works. In a new jail the command is
 * one of the first processes, since nothing ran in it before. */
#include "reuse.h"

/* The attack, in a kept jail, and what the next run sees of it. */
static void expect_trace(const char *attack, const char *look, const char *expected)
{
	warm();
	char before[sizeof said];
	memcpy(before, say(look), sizeof before);
	assert_string_equal(before, expected);
	warm();
	const char *answer = say(attack);
	if (strcmp(answer, "done") != 0)
		print_message("# the attack itself: %s\n", answer);
	assert_string_equal(answer, "done");
	answer = say(look);
	if (strcmp(answer, expected) != 0)
		print_message("# after \"%s\" \"%s\" says: %s\n", attack, look, answer);
	assert_string_equal(answer, expected);
}

/* ---- that they are kept, and when not ---- */
static void P_026_a_plan_that_comes_again_finds_a_jail(void **state)
{
	(void)state;
	assert_string_equal(say("echo $$"), new_pid); /* one run alone leaves nothing */
	assert_true(is_kept());
	assert_true(is_kept());
	assert_string_equal(say("exit 7"), "(7)");
	assert_true(is_kept());
	assert_string_equal(say("kill -9 $$"), "(137)");
	assert_string_equal(say("echo out; echo err >&2"), "out\nerr");
	assert_true(is_kept());
}

/* The keeper is woken by the end of the output, where nobody else is under way: that is no end of the run. */
static void the_end_of_the_output_is_not_the_end(void **state)
{
	(void)state;
	warm();
	for (int i = 0; i < 20; i++) {
		assert_string_equal(say("echo x; exec >&- 2>&-; sleep 0.005; exit 7"), "x (7)");
		assert_string_equal(say("exec >&- 2>&-; kill -9 $$"), "(137)");
		assert_string_equal(say("exec >&-; echo y >&2"), "y");
	}
	assert_true(is_kept());
}

static void another_plan_does_not(void **state)
{
	(void)state;
	warm();
	struct cordon_policy *other = policy_of("{\"resourceLimits\":{\"maxMemoryMB\":200}}");
	assert_string_equal(say_with(engine, other, "echo $$", NULL), new_pid);
	assert_string_equal(say_with(engine, other, "echo $$", NULL), new_pid);
	assert_string_not_equal(say_with(engine, other, "echo $$", NULL), new_pid);
	cordon_policy_free(other);
	assert_true(is_kept());
}

static void without_reuse_every_jail_is_new(void **state)
{
	(void)state;
	struct cordon_engine *fresh = NULL;
	struct cordon_error error = { 0 };
	struct cordon_engine_options options = {
		.size = sizeof options, .keeper_path = keeper(), .ignore_user_policy = 1, .no_reuse = 1
	};
	assert_int_equal(cordon_engine_open(&options, &fresh, &error), 0);
	for (int i = 0; i < 5; i++)
		assert_string_equal(say_with(fresh, NULL, "echo $$", NULL), new_pid);
	cordon_engine_close(fresh);
}

static void several_at_once_have_one_each(void **state)
{
	(void)state;
	struct cordon_run *runs[20];
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < COUNT_OF(runs); i++) /* who is there, beside the jail and the shell? */
			runs[i] = start(engine, (struct cordon_run_options){ .policy = level, .argv = ARGV("sh", "-c", WHO) });
		for (size_t i = 0; i < COUNT_OF(runs); i++) {
			const struct cordon_result *result = finish(runs[i]);
			assert_string_equal(result->output[0], "2\n");
			cordon_run_free(runs[i]);
		}
	}
}

/* ---- what lies around ---- */
static void files_do_not_stay(void **state)
{
	(void)state;
	const char *look = "ls -A $HOME $TMPDIR /dev/shm | tr '\\n' ' ' | sed 's/ *$//'";
	const char *clean = "/dev/shm: home tmp  /dev/shm/home:  /dev/shm/tmp:";
	expect_trace("echo x >$HOME/left; echo done", look, clean);
	expect_trace("mkdir -p $TMPDIR/a/b; echo done", look, clean);
	expect_trace("echo x >/dev/shm/left; echo done", look, clean);
	expect_trace("ln -s /etc/passwd $HOME/link; mkfifo $TMPDIR/pipe; echo done", look, clean);
	expect_trace("mv $HOME /dev/shm/other; mkdir $HOME; echo done", look, clean);
	expect_trace("rmdir $HOME; mkdir $HOME; chmod 700 $HOME; echo done", look, clean);
	/* The twin: who cleans up behind itself keeps the jail. */
	warm();
	assert_string_equal(say("echo x >$TMPDIR/x && cat $TMPDIR/x && rm $TMPDIR/x"), "x");
	assert_true(is_kept());
}

static void nor_do_modes_times_and_attributes(void **state)
{
	(void)state;
	const char *modes = "stat -c '%a %u %F' $HOME $TMPDIR";
	char expected[sizeof said];
	memcpy(expected, say(modes), sizeof expected);
	expect_trace("chmod 755 $HOME && chmod 711 $TMPDIR && echo done", modes, expected);
	expect_trace("chmod 0 $HOME && echo done", modes, expected);
	const char *attributes =
		"python3 -c 'import os; print(os.listxattr(os.environ[\"HOME\"]), os.listxattr(os.environ[\"TMPDIR\"]))'";
	memcpy(expected, say(attributes), sizeof expected);
	/* A default access list would be inherited by all that the next run makes. */
	expect_trace("python3 -c 'import os\ntry: os.setxattr(os.environ[\"HOME\"], \"user.x\", b\"message\")\nexcept OSError: "
		     "pass\nprint(\"done\")'",
		     attributes, expected);
	/* A time is a number that can be chosen. */
	const char *times = "test $(stat -c %Y $HOME) -gt 1600000000 && test $(stat -c %X $TMPDIR) -gt 1600000000 && echo now";
	expect_trace("touch -d @12345 $HOME && touch -a -d @54321 $TMPDIR && echo done", times, "now");
	/* The twin: that alone does not cost the jail. */
	warm();
	say("touch -d @12345 $HOME");
	assert_true(is_kept());
}

/* What statx does not tell, and no descriptor for writing is needed for. */
static void nor_do_flags_and_hints(void **state)
{
	(void)state;
	const char *look = "python3 -c '\n"
			   "import fcntl, os, struct\n"
			   "for name in (\"HOME\", \"TMPDIR\"):\n"
			   "    f, flags = os.open(os.environ[name], os.O_RDONLY), bytearray(8)\n"
			   "    fcntl.ioctl(f, 0x80086601, flags)\n"                  /* FS_IOC_GETFLAGS */
			   "    print(flags[0], fcntl.fcntl(f, 1035, bytes(8))[0])'"; /* F_GET_RW_HINT */
	char expected[sizeof said];
	memcpy(expected, say(look), sizeof expected);
	expect_trace("python3 -c '\n"
		     "import fcntl, os, struct\n"
		     "f = os.open(os.environ[\"HOME\"], os.O_RDONLY)\n"
		     "fcntl.ioctl(f, 0x40086602, struct.pack(\"q\", 0x80))\n" /* FS_IOC_SETFLAGS: noatime */
		     "print(\"done\")'",
		     look, expected);
	expect_trace("python3 -c '\n"
		     "import fcntl, os, struct\n"
		     "try: fcntl.fcntl(os.open(os.environ[\"HOME\"], os.O_RDONLY), 1036, struct.pack(\"q\", 3))\n"
		     "except PermissionError: print(\"done\")'",
		     look, expected);
	/* The twin: who takes it back keeps the jail. */
	warm();
	say("chattr +A $HOME && chattr -A $HOME");
	assert_true(is_kept());
}

/* A lock whose holder waits in a queue that only it itself could read: nobody has it, and it is held. Many of them, and one with
 * much memory, keep the kernel busy while the last are made. */
static void nor_do_locks_that_nobody_holds(void **state)
{
	(void)state;
	const char *hide = "python3 -c '\n"
			   "import array, fcntl, os, socket\n"
			   "f = os.open(os.environ[\"TMPDIR\"], os.O_RDONLY)\n"
			   "fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
			   "m = os.memfd_create(\"m\"); os.write(m, bytes(20 << 20))\n"
			   "for i in range(6):\n"
			   "    a, b = socket.socketpair()\n"
			   "    for s in a, b:\n"
			   "        s.sendmsg([b\"x\"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array(\"i\", [a.fileno(), "
			   "b.fileno(), f, m]))])\n"
			   "print(\"done\", flush=True); os._exit(0)'";
	for (int i = 0; i < 5; i++)
		expect_trace(hide, "flock -n $TMPDIR echo free", "free");
	/* The twin: a lock that ends with its holder costs no jail. */
	warm();
	assert_string_equal(say("flock -n $TMPDIR echo free"), "free");
	assert_true(is_kept());
}

/* Memory files without a name, kept alive by a message to itself that nobody takes. */
static void nor_what_nobody_can_see(void **state)
{
	(void)state;
	warm();
	const char *hide = "python3 -c '\n"
			   "import errno, os, socket, array, time\n"
			   "f = os.open(os.environ[\"TMPDIR\"] + \"/x\", os.O_CREAT | os.O_RDWR); os.write(f, b\"x\" * 5000000)\n"
			   "os.unlink(os.environ[\"TMPDIR\"] + \"/x\")\n"
			   "a, b = socket.socketpair()\n"
			   "for left in range(200, -1, -1):\n" /* all that are under way of this user count, others' as well */
			   "  try: a.sendmsg([b\"x\"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array(\"i\", [f, a.fileno(), "
			   "b.fileno()]))]); break\n"
			   "  except OSError as e:\n"
			   "    if e.errno != errno.ETOOMANYREFS or not left: raise\n"
			   "    time.sleep(0.02)\n"
			   "print(\"done\")'";
	assert_string_equal(say(hide), "done");
	assert_string_equal(say("df --output=used /dev/shm | tail -1 | tr -d ' '"), "0");
}

/* ---- who lives on ---- */
/* The pipes of the next run are made when the last one has ended: they are nobody's before. */
static void nor_what_was_done_to_the_pipes(void **state)
{
	(void)state;
	expect_trace("chmod 640 /dev/stdout; echo done", "stat -Lc %a /dev/stdout", "600");
}

/* Files for captured output are kept as long as nobody writes to them. */
static void output_is_its_own_runs(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		assert_string_equal(say("true"), "");
		assert_string_equal(say("echo one; echo two >&2"), "one\ntwo");
		assert_string_equal(say("echo three >&2"), "three");
		assert_string_equal(say("exit 3"), "(3)");
	}
}

static void nobody_lives_on(void **state)
{
	(void)state;
	const char *look = WHO;
	expect_trace("(sleep 61 &) ; setsid sleep 61 >/dev/null 2>&1 & echo done", look, "2");
	expect_trace("trap '' TERM HUP; (trap '' TERM; while :; do sleep 1; done) >/dev/null 2>&1 & echo done", look, "2");
	/* A stopped one, and one that is no ordinary child. */
	expect_trace("sleep 61 & kill -STOP $!; echo done", look, "2");
	/* Not told until they are gone: and then the jail stays. */
	warm();
	assert_string_equal(say("sleep 61 >/dev/null 2>&1 & echo done"), "done");
	assert_true(is_kept());
}

static void the_jail_itself_stays_as_it_is(void **state)
{
	(void)state;
	char all[sizeof said];
	memcpy(all, say("taskset -p $$ | sed 's/.*: //'"), sizeof all);
	expect_trace("taskset -p 1 1 >/dev/null; echo done", "taskset -p $$ | sed 's/.*: //'", all);
	/* Refused by the filter, as long as pid 1 is not oneself. */
	memcpy(all, say("ulimit -n; ulimit -p; nice"), sizeof all);
	expect_trace("prlimit --pid 1 --nofile=20 2>/dev/null; renice -n 5 -p 1 >/dev/null 2>&1; ionice -c 3 -p 1 2>/dev/null; "
		     "chrt -i -p 0 1 2>/dev/null; echo done",
		     "ulimit -n; ulimit -p; nice", all);
	expect_trace("ulimit -n 20; ulimit -p 5; nice -n 5 true; umask 0; cd /; echo done", "ulimit -n; ulimit -p; nice", all);
}

static void signals_are_not_passed_on(void **state)
{
	(void)state;
	/* To pid 1: it ends its own run, at most. */
	for (int signal = 1; signal < 64; signal++) {
		char script[100];
		if (signal == SIGKILL || signal == SIGSTOP || signal == 32 || signal == 33)
			continue;
		warm();
		snprintf(script, sizeof script, "kill -%d 1; kill -%d 1", signal, signal);
		say(script);
		assert_string_equal(say("sleep 0.02; echo alive"), "alive");
	}
	/* Nor do those that nobody waits for stay where the next run could read them. */
	expect_trace("kill -40 1; kill -WINCH 1; echo done", "grep ShdPnd /proc/1/status | tr -d '\\t'", "ShdPnd:0000000000000000");
	warm();
	assert_string_equal(say("kill -9 1; kill -STOP 1; cut -d' ' -f3 /proc/1/stat | tr SDR www"), "w");
	assert_true(is_kept());
}

static void nothing_is_told_of_the_last_run(void **state)
{
	(void)state;
	warm();
	say_with(engine, NULL, "true", "SECRET-ARGUMENT");
	assert_string_equal(say("cat /proc/1/environ /proc/1/cmdline /proc/1/mem 2>/dev/null | grep -ac SECRET"), "0 (1)");
	assert_string_equal(say("ls /proc/1/fd 2>/dev/null | wc -l"), "0");
	assert_true(is_kept());
}

/* ---- what the paths are now ---- */
static void replaced_directories_are_noticed(void **state)
{
	(void)state;
	mkdir(in_work("d"), 0777);
	chmod(in_work("d"), 0777);
	put(in_work("d/f"), "old");
	struct cordon_policy *policy = policy_with("{\"allowedWritePaths\":[\"%s/d\"]}");
	const char *look = "cat $1/d/f; touch $1/d/new-$$ && rm $1/d/new-$$";
	for (int i = 0; i < 3; i++)
		assert_string_equal(say_with(engine, policy, look, work()), "old");
	rename(in_work("d"), in_work("d.away"));
	mkdir(in_work("d"), 0777);
	chmod(in_work("d"), 0777);
	put(in_work("d/f"), "new");
	assert_string_equal(say_with(engine, policy, look, work()), "new");
	/* The twin: new files in it do not matter. */
	put(in_work("d/f"), "newer");
	say_with(engine, policy, "true", NULL);
	assert_string_equal(say_with(engine, policy, "cat $1/d/f; test $$ -gt 4 && echo kept", work()), "newerkept");
	cordon_policy_free(policy);
	unlink(in_work("d/f"));
	unlink(in_work("d.away/f"));
	rmdir(in_work("d"));
	rmdir(in_work("d.away"));
}

static void replaced_files_are_noticed(void **state)
{
	(void)state;
	mkdir(in_work("in"), 0755);
	char outside[] = "/var/tmp/cordon-reuse-XXXXXX";
	assert_non_null(mkdtemp(outside));
	chmod(outside, 0755);
	char file[100], other[100], json[400];
	snprintf(file, sizeof file, "%s/f", outside);
	snprintf(other, sizeof other, "%s/g", outside);
	put(file, "old");
	snprintf(json, sizeof json, "{%s\"allowedReadPaths\":[\"%s\"]}", level ? CONTAINER "," : "", file);
	struct cordon_policy *policy = policy_of(json);
	for (int i = 0; i < 3; i++)
		assert_string_equal(say_with(engine, policy, "cat $1", file), "old");
	put(other, "new");
	rename(other, file);
	assert_string_equal(say_with(engine, policy, "cat $1", file), "new");
	put(file, "written over");
	assert_string_equal(say_with(engine, policy, "cat $1", file), "written over");
	/* The twin: that alone does not cost the jail. */
	assert_string_equal(say_with(engine, policy, "cat $1; test $$ -gt 4 && echo , kept", file), "written over, kept");
	cordon_policy_free(policy);
	unlink(file);
	rmdir(outside);
	rmdir(in_work("in"));
}

/* A denied file is hidden by a mount on its name. When the name is taken away, in any namespace, so is the mount. */
static void hidden_files_stay_hidden(void **state)
{
	(void)state;
	put(in_work("secret"), "secret");
	struct cordon_policy *policy = policy_with("{\"allowedWritePaths\":[\"%s\"],\"deniedPaths\":[\"%s/secret\"]}");
	const char *look = "cat */secret secret ./s?cret 2>/dev/null || echo hidden";
	for (int i = 0; i < 3; i++)
		assert_string_equal(say_with(engine, policy, look, NULL), "hidden");
	link(in_work("secret"), in_work("other"));
	unlink(in_work("secret"));
	rename(in_work("other"), in_work("secret"));
	assert_string_equal(say_with(engine, policy, look, NULL), "hidden");
	put(in_work("other"), "another secret");
	rename(in_work("other"), in_work("secret"));
	assert_string_equal(say_with(engine, policy, look, NULL), "hidden");
	cordon_policy_free(policy);
	unlink(in_work("secret"));
}

static void what_can_be_written_stays_as_it_was(void **state)
{
	(void)state;
	const char *look = "ls -A $HOME $TMPDIR /dev/shm /dev/pts | tr '\\n' ' ' | sed 's/ *$//'";
	char clean[sizeof said]; /* the working directory may lie in /tmp */
	memcpy(clean, say(look), sizeof clean);
	assert_memory_equal(clean, "/dev/pts: ptmx  /dev/shm:  /home/sandbox:  /tmp:", 48);
	expect_trace("echo x >$HOME/left; echo done", look, clean);
	expect_trace("mkdir -p $TMPDIR/a/b; echo done", look, clean);
	expect_trace("echo x >/dev/shm/left; echo done", look, clean);
	const char *modes = "stat -c '%a %u %F' $HOME $TMPDIR /dev/shm /dev/pts /dev/pts/ptmx";
	char expected[sizeof said];
	memcpy(expected, say(modes), sizeof expected);
	expect_trace("chmod 755 $HOME && echo done", modes, expected);
	expect_trace("chmod 711 /tmp /dev/shm 2>/dev/null; echo done", modes, expected); /* not everyone's */
	expect_trace("chmod 711 /dev/pts 2>/dev/null; echo done", modes, expected);
	expect_trace("chmod 600 /dev/pts/ptmx 2>/dev/null; echo done", modes, expected);
	const char *times =
		"for f in $HOME /tmp /dev/shm /dev/pts /dev/pts/ptmx; do test $(stat -c %Y $f) -gt 1600000000 || echo $f; "
		"done; echo now";
	expect_trace("touch -d @12345 $HOME /tmp /dev/shm /dev/pts /dev/pts/ptmx 2>/dev/null; echo done", times, "now");
	/* System V objects would outlive the run in the namespace. */
	expect_trace("ipcmk -M 4096 >/dev/null 2>&1; ipcmk -Q >/dev/null 2>&1; ipcmk -S 1 >/dev/null 2>&1; echo done",
		     "cat /proc/sysvipc/* | wc -l", "3");
	/* The twin: who cleans up keeps it. */
	warm();
	assert_string_equal(say("echo x >$TMPDIR/x && cat $TMPDIR/x && rm $TMPDIR/x"), "x");
	assert_true(is_kept());
}

/* ---- what is told of a run is its own ---- */
static int64_t usage_of(const char *script, int64_t *ret_cpu_us)
{
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .policy = level, .argv = ARGV("sh", "-c", script) });
	const struct cordon_result *result = finish(run);
	assert_int_equal(result->exit_status, 0);
	int64_t peak = result->usage->peak_memory_bytes;
	*ret_cpu_us = result->usage->cpu_us;
	cordon_run_free(run);
	return peak;
}

static void usage_starts_at_nothing(void **state)
{
	(void)state;
	int64_t cpu_us;
	warm();
	int64_t peak =
		usage_of("exec python3 -c 'x = bytearray(90 << 20)\nimport time\nwhile time.process_time() < 0.4: pass'", &cpu_us);
	assert_true(peak > (90 << 20) && peak < (120 << 20));
	assert_true(cpu_us > 380000 && cpu_us < 520000);
	assert_true(is_kept());
	peak = usage_of("true", &cpu_us);
	assert_true(peak > 0 && peak < (20 << 20));
	assert_true(cpu_us < 60000);
	/* Not even when the meter looks. */
	peak = usage_of("sleep 0.2", &cpu_us);
	assert_true(peak < (20 << 20));
	assert_true(cpu_us < 60000);
	assert_true(is_kept());
}

static void a_run_that_is_ended_leaves_nothing(void **state)
{
	(void)state;
	struct cordon_policy *policy = policy_of("{\"resourceLimits\":{\"timeoutMs\":600}}");
	for (int i = 0; i < 4; i++) {
		assert_string_equal(say_with(engine, policy, "echo fine", NULL), "fine");
		say_with(engine, policy, "trap '' TERM; sleep 20", NULL);
	}
	assert_string_equal(say_with(engine, policy, WHO, NULL), "2");
	cordon_policy_free(policy);
	warm();
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .policy = level, .argv = ARGV("sleep", "60") });
	usleep(100000);
	cordon_run_cancel(run);
	assert_string_equal(finish(run)->kill_reason, "manual");
	cordon_run_free(run);
	assert_string_equal(say("echo $$"), new_pid); /* a jail that was told to end its run ends with it */
	assert_string_equal(say("echo fine"), "fine");
}

static void refusals_are_told_of_whom_they_concern(void **state)
{
	(void)state;
	static const char refused[] =
		"python3 -c 'import socket\nfor i in range(3):\n try: socket.socket()\n except OSError: pass'";
	static const int expected[] = { 0, 1, 0, 1, 1, 0 };
	warm();
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		struct cordon_run *run =
			start(engine, (struct cordon_run_options){ .policy = level,
								   .argv = ARGV("sh", "-c", expected[i] ? refused : "true") });
		finish(run);
		const char *told = strstr(cordon_run_json(run), "\"denials\"");
		assert_non_null(told);
		assert_int_equal(strstr(told, "\"syscall\"") != NULL, expected[i]);
		assert_int_equal(strstr(told, "\"count\": 3") != NULL, expected[i]);
		cordon_run_free(run);
	}
	assert_true(is_kept());
}

static int keepers_policy(void)
{
	char path[64];
	long pid = 0;
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%ld", &pid), 1);
	fclose(file);
	return sched_getscheduler((pid_t)pid) & ~SCHED_RESET_ON_FORK;
}

/* Where it may. A short run is over before that. */
static void a_keeper_goes_first_soon(void **state)
{
	(void)state;
	const struct sched_param first = { .sched_priority = 1 }, none = { 0 };
	int expected = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0 ? SCHED_FIFO : SCHED_OTHER;
	sched_setscheduler(0, SCHED_OTHER, &none);
	warm();
	assert_int_equal(keepers_policy(), SCHED_OTHER);
	struct cordon_run *run = start(engine, (struct cordon_run_options){ .argv = ARGV("sleep", "0.3"), .skip_guard = 1 });
	usleep(100000);
	assert_int_equal(keepers_policy(), expected);
	finish(run);
	cordon_run_free(run);
	assert_string_equal(say("echo fine"), "fine");
	usleep(20000);
	assert_int_equal(keepers_policy(), SCHED_OTHER);
}

static void what_cannot_be_started_says_so(void **state)
{
	(void)state;
	warm();
	assert_string_equal(say("exec /nonexistent/program 2>/dev/null"), "(127)");
	struct cordon_run *run = NULL;
	struct cordon_error error = { 0 };
	put(in_work("text"), "not a program\n");
	chmod(in_work("text"), 0755);
	struct cordon_run_options options = { .size = sizeof options, .argv = ARGV(in_work("text")), .working_directory = work() };
	assert_int_equal(cordon_run_start(engine, &options, &run, &error), 0);
	assert_int_equal(finish(run)->exit_status, 126);
	cordon_run_free(run);
	unlink(in_work("text"));
	assert_string_equal(say("echo fine"), "fine");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_one, close_one)
		CASE(P_026_a_plan_that_comes_again_finds_a_jail),
		CASE(the_end_of_the_output_is_not_the_end),
		CASE(another_plan_does_not),
		CASE(without_reuse_every_jail_is_new),
		CASE(several_at_once_have_one_each),
		CASE(files_do_not_stay),
		CASE(nor_do_modes_times_and_attributes),
		CASE(nor_do_flags_and_hints),
		CASE(nor_do_locks_that_nobody_holds),
		CASE(nor_what_nobody_can_see),
		CASE(nor_what_was_done_to_the_pipes),
		CASE(output_is_its_own_runs),
		CASE(nobody_lives_on),
		CASE(the_jail_itself_stays_as_it_is),
		CASE(signals_are_not_passed_on),
		CASE(nothing_is_told_of_the_last_run),
		CASE(replaced_directories_are_noticed),
		CASE(replaced_files_are_noticed),
		CASE(hidden_files_stay_hidden),
		CASE(usage_starts_at_nothing),
		CASE(a_run_that_is_ended_leaves_nothing),
		CASE(refusals_are_told_of_whom_they_concern),
		CASE(a_keeper_goes_first_soon),
		CASE(what_cannot_be_started_says_so),
/* The same at container level, and what is different there. */
#define INSIDE(name) cmocka_unit_test_setup_teardown(name, open_container, close_one)
		INSIDE(P_026_a_plan_that_comes_again_finds_a_jail),
		INSIDE(several_at_once_have_one_each),
		INSIDE(nor_do_flags_and_hints),
		INSIDE(nor_do_locks_that_nobody_holds),
		INSIDE(nor_what_nobody_can_see),
		INSIDE(nobody_lives_on),
		INSIDE(the_jail_itself_stays_as_it_is),
		INSIDE(nothing_is_told_of_the_last_run),
		INSIDE(what_can_be_written_stays_as_it_was),
		INSIDE(replaced_files_are_noticed),
		INSIDE(usage_starts_at_nothing),
		INSIDE(refusals_are_told_of_whom_they_concern),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
