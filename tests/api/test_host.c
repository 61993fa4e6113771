/* Hosts of every kind: large ones, ones with many threads, ones that did things to SIGCHLD or to their descriptors. */
#include "api.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* Each of these hosts is a process of its own, so that what it does to itself stays there. */
static void in_a_host(int (*host)(void))
{
	work(); /* made here, removed here */
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		_exit(host());
	int status = -1;
	for (int i = 0; i < 600 && waitpid(pid, &status, WNOHANG) == 0; i++) {
		if (i == 599) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			fail_msg("the host hangs");
		}
		usleep(100000);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	/* cmocka's TAP shows no text of a failure: the line (modulo 256) is all there is to go by. */
	print_message("# a host ended with wait status %#x, line %d\n", (unsigned)status, WEXITSTATUS(status));
	fail();
}

/* One engine, some runs, closed again: 0, or the line where it went wrong. */
static int use_the_library(void)
{
	struct cordon_engine *engine;
	struct cordon_engine_options how = { .size = sizeof how, .keeper_path = keeper(), .ignore_user_policy = 1 };
	struct cordon_run_options options = { .size = sizeof options,
					      .argv = ARGV("sh", "-c", "echo out; echo err >&2; exit 7"),
					      .working_directory = work() };
	for (int round = 0; round < 3; round++) {
		if (cordon_engine_open(&how, &engine, NULL) < 0)
			return __LINE__ & 255;
		for (int i = 0; i < 5; i++) {
			struct cordon_run *run;
			if (cordon_execute(engine, &options, &run, NULL) < 0)
				return __LINE__ & 255;
			const struct cordon_result *result = cordon_run_result(run);
			if (result->exit_status != 7 || strcmp(result->output[0], "out\n") != 0 ||
			    strcmp(result->output[1], "err\n") != 0)
				return __LINE__ & 255;
			cordon_run_free(run);
		}
		cordon_engine_close(engine);
	}
	return 0;
}

/* ---- SIGCHLD ---- */

static int ignores_children(void)
{
	signal(SIGCHLD, SIG_IGN);
	return use_the_library();
}

static volatile sig_atomic_t reaped;

static void reap_any(int number)
{
	(void)number;
	int saved = errno;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		reaped++;
	errno = saved;
}

static int waits_for_any_child(void)
{
	sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = reap_any, .sa_flags = SA_RESTART }, NULL);
	int result = use_the_library();
	return result ? result : reaped <= 3 ? 0 : __LINE__ & 255; /* a keeper an engine, at most; no run is the host's child */
}

static void *reap_in_a_loop(void *stop)
{
	while (!*(volatile int *)stop) {
		waitpid(-1, NULL, WNOHANG);
		sched_yield();
	}
	return NULL;
}

static int waits_in_a_thread(void)
{
	int stop = 0;
	pthread_t thread;
	if (pthread_create(&thread, NULL, reap_in_a_loop, &stop))
		return __LINE__ & 255;
	int result = use_the_library();
	stop = 1;
	pthread_join(thread, NULL);
	return result;
}

static void P_006_sigchld_is_the_hosts(void **state)
{
	(void)state;
	in_a_host(use_the_library);
	in_a_host(ignores_children);
	in_a_host(waits_for_any_child);
	in_a_host(waits_in_a_thread);
}

/* ---- descriptors ---- */

__attribute__((unused)) static int closed_standard(void)
{
	close(0);
	close(1);
	close(2);
	struct cordon_engine *engine;
	struct cordon_engine_options how = { .size = sizeof how, .keeper_path = keeper(), .ignore_user_policy = 1 };
	struct cordon_run_options options = { .size = sizeof options,
					      .argv = ARGV("sh", "-c", "sleep 0.2; cat; echo out; echo err >&2"),
					      .working_directory = work(),
					      .input = "in\n",
					      .input_size = 3,
					      .events = CORDON_EVENT_ALL };
	struct cordon_run *run;
	if (cordon_engine_open(&how, &engine, NULL) < 0 || cordon_engine_fd(engine) < 3 ||
	    cordon_run_start(engine, &options, &run, NULL) < 0)
		return __LINE__ & 255;
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) >= 0 || write(fd, "printed by the host", 19) >= 0)
			return __LINE__ & 255; /* something of the library's is there */
	if (cordon_run_wait(run, 20000) != 1 || strcmp(cordon_run_result(run)->output[0], "in\nout\n") != 0)
		return __LINE__ & 255;
	cordon_engine_close(engine);
	return use_the_library();
}

static int many_open(void)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	int many = limit.rlim_max < 5000 ? (int)limit.rlim_max - 100 : 4900;
	limit.rlim_cur = limit.rlim_max < 5000 ? limit.rlim_max : 5000;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return __LINE__ & 255;
	int secret = open("/etc/passwd", O_RDONLY); /* without CLOEXEC: a host that forgot */
	for (int fd = secret + 1; fd < many; fd++)
		if (dup2(secret, fd) < 0)
			return __LINE__ & 255;
	int result = use_the_library();
	for (int fd = secret; fd < many; fd++)
		if (fcntl(fd, F_GETFD) != 0)
			return __LINE__ & 255; /* closed, or changed */
	struct cordon_engine *engine;
	struct cordon_engine_options how = { .size = sizeof how, .keeper_path = keeper(), .ignore_user_policy = 1 };
	struct cordon_run_options options = { .size = sizeof options,
					      .argv = ARGV("sh", "-c", "ls /proc/self/fd | wc -l"),
					      .working_directory = work() };
	struct cordon_run *run;
	if (cordon_engine_open(&how, &engine, NULL) < 0 || cordon_execute(engine, &options, &run, NULL) < 0)
		return __LINE__ & 255;
	int inside = atoi(cordon_run_result(run)->output[0]);
	cordon_engine_close(engine);
	return result ? result : inside > 4 ? __LINE__ & 255 : 0;
}

static int no_descriptor_left(void)
{
	struct rlimit limit = { 12, 12 };
	setrlimit(RLIMIT_NOFILE, &limit);
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		;
	struct cordon_engine *engine;
	struct cordon_error error = { 0 };
	struct cordon_engine_options how = { .size = sizeof how, .keeper_path = keeper() };
	if (cordon_engine_open(&how, &engine, &error) != -EMFILE || !error.message[0])
		return __LINE__ & 255;
	return 0;
}

enum { LOOKED_AT = 2000 };

/* The flags of each, -1: not open. */
static void look_at_descriptors(int flags[LOOKED_AT])
{
	for (int fd = 0; fd < LOOKED_AT; fd++)
		flags[fd] = fcntl(fd, F_GETFD);
}

static int all_close_on_exec(void)
{
	int before[LOOKED_AT], meanwhile[LOOKED_AT], after[LOOKED_AT], new = 0;
	look_at_descriptors(before);
	struct cordon_engine *engine;
	struct cordon_engine_options how = { .size = sizeof how, .keeper_path = keeper(), .ignore_user_policy = 1 };
	struct cordon_run_options options = { .size = sizeof options, .argv = ARGV("sleep", "5"), .working_directory = work() };
	struct cordon_run *runs[3];
	if (cordon_engine_open(&how, &engine, NULL) < 0 || cordon_engine_fd(engine) < 0)
		return __LINE__ & 255;
	for (int i = 0; i < 3; i++)
		if (cordon_run_start(engine, &options, &runs[i], NULL) < 0)
			return __LINE__ & 255;
	look_at_descriptors(meanwhile);
	for (int fd = 0; fd < LOOKED_AT; fd++) {
		if (before[fd] >= 0 ? meanwhile[fd] != before[fd] : meanwhile[fd] >= 0 && !(meanwhile[fd] & FD_CLOEXEC))
			return __LINE__ & 255;
		new += before[fd] < 0 && meanwhile[fd] >= 0;
	}
	cordon_engine_close(engine);
	look_at_descriptors(after);
	return new > 0 && memcmp(before, after, sizeof before) == 0 ? 0 : __LINE__ & 255;
}

static void P_007_descriptors_are_the_hosts(void **state)
{
	(void)state;
#ifndef __SANITIZE_ADDRESS__ /* its warning about stacks goes to descriptor 2, which is the input in a reaper of that moment */
	in_a_host(closed_standard);
#endif
	in_a_host(many_open);
	in_a_host(no_descriptor_left);
	in_a_host(all_close_on_exec);
}

/* ---- the rest of the process ---- */

static int nothing_is_touched(void)
{
	sigset_t mask_before, mask_after;
	struct sigaction before[65] = { 0 }, after; /* two signals are libc's, and stay zero */
	char cwd_before[4096], cwd_after[4096], path[4200];
	struct stat nothing;
	snprintf(path, sizeof path, "%s/printed", work());
	int printed = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	dup2(printed, 1);
	dup2(printed, 2);
	umask(023);
	sigemptyset(&mask_before);
	sigaddset(&mask_before, SIGUSR1);
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
	for (int i = 1; i < 65; i++)
		sigaction(i, NULL, &before[i]);
	if (!getcwd(cwd_before, sizeof cwd_before))
		return __LINE__ & 255;
	setenv("CORDON_TEST_VARIABLE", "here", 1);
	int result = use_the_library();
	if (result)
		return result;
	sigprocmask(SIG_SETMASK, NULL, &mask_after);
	for (int i = 1; i < 65; i++) {
		memset(&after, 0, sizeof after);
		sigaction(i, NULL, &after);
		if (after.sa_handler != before[i].sa_handler || sigismember(&mask_after, i) != sigismember(&mask_before, i))
			return __LINE__ & 255;
	}
	if (!getcwd(cwd_after, sizeof cwd_after) || strcmp(cwd_before, cwd_after) != 0 || umask(0) != 023)
		return __LINE__ & 255;
	if (strcmp(getenv("CORDON_TEST_VARIABLE"), "here") != 0 || fstat(printed, &nothing) < 0 || nothing.st_size != 0)
		return __LINE__ & 255;
	unlink(path);
	return 0;
}

static void P_004_the_process_is_left_alone(void **state)
{
	(void)state;
	in_a_host(nothing_is_touched);
}

/* A fork of this host would copy the page tables of 2 GiB: tens of milliseconds. */
static int is_large(void)
{
	size_t size = (size_t)2 << 30;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 0; /* a machine that is too small says nothing about this */
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < size; at += 4096)
		memory[at] = 1;
	struct rusage usage;
	int result = use_the_library();
	getrusage(RUSAGE_SELF, &usage);
	/* Whoever is forked shares each page with us; whoever writes to one then gets a fault. None was taken: nobody was. */
	long faults = usage.ru_minflt;
	for (size_t at = 0; at < size; at += 4096)
		memory[at] = 2;
	getrusage(RUSAGE_SELF, &usage);
	munmap(memory, size);
	return result ? result : usage.ru_minflt - faults < 1000 ? 0 : __LINE__ & 255;
}

static void P_005_a_large_host_is_not_forked(void **state)
{
	(void)state;
	in_a_host(is_large);
}

/* ---- threads and engines ---- */

static void *own_engine(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)use_the_library();
}

static struct cordon_engine *shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *shared_engine(void *unused)
{
	(void)unused;
	struct cordon_run_options options = { .size = sizeof options,
					      .argv = ARGV("sh", "-c", "exit 7"),
					      .working_directory = work() };
	for (int i = 0; i < 5; i++) {
		struct cordon_run *run;
		pthread_mutex_lock(&lock);
		int result = cordon_run_start(shared, &options, &run, NULL);
		pthread_mutex_unlock(&lock);
		for (int waited = 0; result == 0 && waited == 0;) {
			usleep(1000);
			pthread_mutex_lock(&lock);
			waited = cordon_run_wait(run, 0);
			result = waited == 1 && cordon_run_result(run)->exit_status != 7 ? -1 : waited < 0 ? waited : 0;
			if (waited)
				cordon_run_free(run);
			pthread_mutex_unlock(&lock);
		}
		if (result < 0)
			return (void *)(intptr_t)(__LINE__ & 255);
	}
	return NULL;
}

static int with_threads(void *(*body)(void *))
{
	pthread_t threads[8];
	int result = 0;
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		pthread_create(&threads[i], NULL, body, NULL);
	for (size_t i = 0; i < COUNT_OF(threads); i++) {
		void *ended;
		pthread_join(threads[i], &ended);
		result = result ? result : (int)(intptr_t)ended;
	}
	return result;
}

static int engines_in_threads(void)
{
	return with_threads(own_engine);
}

static int one_engine_handed_around(void)
{
	struct cordon_engine_options how = { .size = sizeof how, .keeper_path = keeper(), .ignore_user_policy = 1 };
	if (cordon_engine_open(&how, &shared, NULL) < 0)
		return __LINE__ & 255;
	int result = with_threads(shared_engine);
	cordon_engine_close(shared);
	return result;
}

/* The thread that opened the engine and started the run is gone; engine and run are not. */
static struct cordon_run *orphan;

static void *open_and_leave(void *unused)
{
	(void)unused;
	struct cordon_engine_options how = { .size = sizeof how, .keeper_path = keeper(), .ignore_user_policy = 1 };
	struct cordon_run_options options = { .size = sizeof options,
					      .argv = ARGV("sh", "-c", "sleep 0.5; exit 7"),
					      .working_directory = work() };
	if (cordon_engine_open(&how, &shared, NULL) < 0 || cordon_run_start(shared, &options, &orphan, NULL) < 0)
		return (void *)1;
	return NULL;
}

static int the_thread_is_gone(void)
{
	pthread_t thread;
	void *ended = (void *)1;
	if (pthread_create(&thread, NULL, open_and_leave, NULL) || pthread_join(thread, &ended) || ended)
		return __LINE__ & 255;
	int waited = cordon_run_wait(orphan, 20000);
	int status = waited == 1 ? cordon_run_result(orphan)->exit_status : -1;
	cordon_engine_close(shared);
	return status == 7 ? 0 : __LINE__ & 255;
}

static void P_008_an_engine_belongs_to_one_thread_at_a_time(void **state)
{
	(void)state;
	in_a_host(engines_in_threads);
	in_a_host(one_engine_handed_around);
	in_a_host(the_thread_is_gone);
}

static void P_009_engines_know_nothing_of_each_other(void **state)
{
	(void)state;
	struct cordon_engine *engines[5];
	struct cordon_run *runs[5];
	for (size_t i = 0; i < COUNT_OF(engines); i++) {
		engines[i] = open_engine();
		runs[i] = start(engines[i], (struct cordon_run_options){ .argv = ARGV("sleep 1; exit 7"), .shell = 1 });
	}
	cordon_engine_close(engines[2]); /* its run goes, the others stay */
	for (size_t i = 0; i < COUNT_OF(engines); i++)
		if (i != 2) {
			expect_exit(runs[i], 7);
			cordon_engine_close(engines[i]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(P_006_sigchld_is_the_hosts),
		cmocka_unit_test(P_007_descriptors_are_the_hosts),
		cmocka_unit_test(P_004_the_process_is_left_alone),
		cmocka_unit_test(P_005_a_large_host_is_not_forked),
		cmocka_unit_test(P_008_an_engine_belongs_to_one_thread_at_a_time),
		cmocka_unit_test(P_009_engines_know_nothing_of_each_other),
	};
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
