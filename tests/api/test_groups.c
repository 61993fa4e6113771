/* Control groups of kept jails: a jail moves into a group while nobody runs in it, so that whoever is started there is a member
 * from its first instruction. What does that hold, and what of one run counts for the next? Where no group can be had, the same is
 * held by the meter, and the result says so. */
#include "api.h"

#include <sys/stat.h>
#include <time.h>

#define REST_MS 80 /* more than it takes to move a jail into a group */

static struct cordon_engine *engine;
static struct cordon_policy *policy;
static int have_groups;
static struct {
	char reason[64], out[4096], json[65536];
	int status;
	double peak_mb, cpu_ms;
} last;

static void rest(int ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static const char *run(const char *script)
{
	struct cordon_run *run =
		start(engine, (struct cordon_run_options){ .skip_guard = 1, .policy = policy, .argv = ARGV("sh", "-c", script) });
	const struct cordon_result *result = finish(run);
	if (result->error)
		fail_msg("%s: %s", script, result->error->message);
	snprintf(last.reason, sizeof last.reason, "%s", result->kill_reason ? result->kill_reason : "");
	snprintf(last.out, sizeof last.out, "%s%s", result->output[0], result->output[1]);
	snprintf(last.json, sizeof last.json, "%s", cordon_run_json(run));
	last.status = result->exit_status;
	last.peak_mb = (double)result->usage->peak_memory_bytes / (1 << 20);
	last.cpu_ms = (double)result->usage->cpu_us / 1000;
	cordon_run_free(run);
	return last.out;
}

/* A jail that is kept, and has had the time to move. */
static void settle(void)
{
	run("true");
	run("true");
	rest(REST_MS);
}

/* The mechanism of a limit as the last result tells it, with its strength. */
static const char *held_by(const char *limit)
{
	static char text[1024];
	char key[64], *at, *end;
	snprintf(key, sizeof key, "\"resourceLimits.%s\"", limit);
	at = strstr(last.json, key);
	end = at ? strchr(at, '}') : NULL;
	snprintf(text, sizeof text, "%.*s", end ? (int)(end - at) : 0, at ? at : "");
	return text;
}

static int is_member(const char *groups)
{
	return strstr(groups, "/cordon-jail-") != NULL;
}

static void open_with(const char *json)
{
	engine = open_engine();
	policy = policy_of(json);
	settle();
	have_groups = is_member(run("cat /proc/self/cgroup"));
	rest(REST_MS);
}

static int open_one(void **state)
{
	(void)state;
	open_with("{\"resourceLimits\":{\"maxMemoryMB\":100,\"maxProcesses\":20,\"maxCpuSeconds\":20}}");
	return 0;
}

static int close_one(void **state)
{
	(void)state;
	cordon_engine_close(engine);
	cordon_policy_free(policy);
	return 0;
}

/* Several daemons at once, from the start; it ends when all of them are gone. Those who pass the limit together do not get that
 * far, and hold on to what they have until all have it. */
static const char *eat(int count, int mb)
{
	static char script[1024];
	snprintf(script, sizeof script,
		 "for i in $(seq %d); do (setsid perl -e '$n = %d << 20; $x = \"x\" x $n; select undef, undef, undef, %s' &) ; "
		 "done | cat",
		 count, mb, count * mb > 100 ? "5" : "0.3");
	return run(script);
}

static void a_run_is_a_member_from_its_start(void **state)
{
	(void)state;
	run("cat /proc/self/cgroup");
	assert_int_equal(is_member(last.out), have_groups);
	if (getuid() == 0 && access("/sys/fs/cgroup/memory/memory.usage_in_bytes", W_OK) == 0)
		assert_true(have_groups);
	const char *memory = held_by("maxMemoryMB");
	assert_true(!strstr(memory, "cgroup") == !have_groups);
	assert_true(strstr(memory, have_groups ? "\"kernel\"" : "\"polled\""));
	assert_null(strstr(memory, "ms on; before that")); /* it was over before one could have been joined late */
	/* The first of a plan is not, and says so. */
	struct cordon_policy *other = policy_of("{\"resourceLimits\":{\"maxMemoryMB\":99}}"), *kept = policy;
	policy = other;
	run("cat /proc/self/cgroup");
	policy = kept;
	cordon_policy_free(other);
	assert_false(is_member(last.out));
	assert_non_null(strstr(held_by("maxMemoryMB"), "\"polled\""));
}

/* A jail that is never left alone gets one all the same. */
static void nor_does_it_need_rest(void **state)
{
	(void)state;
	struct cordon_engine *rested = engine;
	engine = open_engine();
	int member = 0;
	for (int i = 0; i < 200 && !member; i++)
		member = is_member(run("cat /proc/self/cgroup"));
	cordon_engine_close(engine);
	engine = rested;
	assert_int_equal(member, have_groups);
}

static void memory_is_held_at_once(void **state)
{
	(void)state;
	eat(4, 60);
	print_message("# four daemons at once: peak %.0f of 100 MB\n", last.peak_mb);
	assert_string_equal(last.reason, "memory_limit");
	assert_true(last.peak_mb <= (have_groups ? 110 : 164));
	settle();
	run("perl -e 'for (1 .. 4) { if (!fork) { $n = 60 << 20; $x = \"x\" x $n; sleep 5; exit } } 1 "
	    "while wait > 0; print "
	    "\"survived\"'");
	assert_string_equal(last.reason, "memory_limit");
	assert_null(strstr(last.out, "survived"));
	assert_true(last.peak_mb <= (have_groups ? 110 : 164));
	settle();
	eat(4, 15);
	assert_string_equal(last.reason, "");
	assert_int_equal(last.status, 0);
	assert_true(last.peak_mb >= 60 && last.peak_mb <= 100);
}

static void processes_are_held_at_once(void **state)
{
	(void)state;
	run("perl -e 'fork while 1'");
	assert_string_equal(last.reason, "process_limit");
	settle();
	run("perl -e 'for (1 .. 15) { fork or do { select undef, undef, undef, 0.2; exit } } 1 while wait > 0; print \"fine\"'");
	assert_string_equal(last.out, "fine");
}

/* What one run has used is not the next one's. */
static void figures_begin_anew(void **state)
{
	(void)state;
	eat(1, 70);
	assert_true(last.peak_mb > 65 && last.peak_mb < 90);
	eat(1, 20);
	print_message("# 20 MB after 70: %.1f\n", last.peak_mb);
	assert_true(last.peak_mb > 19 && last.peak_mb < 40);
	run("sleep 0.05");
	assert_true(last.peak_mb < 10);
	/* Of those whom nobody waited for, too. */
	run("perl -e 'pipe R, W; $SIG{CHLD} = \"IGNORE\"; for (1 .. 4) { if (!fork) { 1 while (times)[0] + (times)[1] < 0.1; exit "
	    "} } "
	    "close W; <R>'"); /* until all are gone */
	if (have_groups)
		assert_true(last.cpu_ms > 380 && last.cpu_ms < 600);
	run("sleep 0.05");
	print_message("# CPU of sleep: %.1f ms\n", last.cpu_ms);
	assert_true(last.cpu_ms < 50);
}

/* Memory of a file system that outlives the run stays charged to its group. */
static void what_stays_in_memory_is_not_the_next_ones(void **state)
{
	(void)state;
	char dir[] = "/dev/shm/groups-XXXXXX", json[256], script[256];
	assert_non_null(mkdtemp(dir));
	chmod(dir, 0777);
	snprintf(json, sizeof json, "{\"allowedWritePaths\":[\"%s\"],\"resourceLimits\":{\"maxMemoryMB\":100}}", dir);
	struct cordon_policy *kept = policy;
	policy = policy_of(json);
	settle();
	snprintf(script, sizeof script, "head -c 60M /dev/zero >%s/left", dir);
	run(script);
	assert_int_equal(last.status, 0);
	eat(1, 70);
	assert_string_equal(last.reason, "");
	print_message("# 70 MB after 60 that were left: %.1f\n", last.peak_mb);
	assert_true(last.peak_mb > 65 && last.peak_mb < 90);
	snprintf(script, sizeof script, "%s/left", dir);
	unlink(script);
	rmdir(dir);
	cordon_policy_free(policy);
	policy = kept;
}

/* File cache is given back when it is needed. */
static void file_cache_is_no_memory_of_a_runs(void **state)
{
	(void)state;
	char json[4200];
	struct cordon_policy *kept = policy;
	snprintf(json, sizeof json, "{\"allowedWritePaths\":[\"%s\"],\"resourceLimits\":{\"maxMemoryMB\":100,\"maxDiskMB\":100}}",
		 work());
	policy = policy_of(json);
	settle();
	chmod(work(), 0777);
	run("for i in 1 2 3; do head -c 50000000 /dev/zero >f && cat f >/dev/null && rm f || exit 1; done");
	assert_int_equal(last.status, 0);
	assert_string_equal(last.reason, "");
	eat(1, 80);
	assert_string_equal(last.reason, "");
	eat(2, 80);
	assert_string_equal(last.reason, "memory_limit");
	cordon_policy_free(policy);
	policy = kept;
}

/* Processors are held from the start; and for the next run, too, whatever became of the last. */
static void processors_are_held_at_once(void **state)
{
	(void)state;
	if (!have_groups)
		return; /* then such a run is not started: tests/live/cpus.sh */
	struct cordon_policy *kept = policy;
	static const char spin[] = "while :; do :; done & while :; do :; done";
	policy = policy_of("{\"resourceLimits\":{\"maxCpus\":0.2,\"cpuWeight\":90,\"timeoutMs\":600}}");
	settle();
	for (int i = 0; i < 2; i++) {
		run(spin);
		print_message("# 0.2 processors for 600 ms: %.0f ms\n", last.cpu_ms);
		assert_string_equal(last.reason, "timeout");
		assert_true(last.cpu_ms < 230);
		settle();
	}
	run("cat /proc/self/cgroup");
	assert_true(is_member(last.out));
	assert_non_null(strstr(held_by("maxCpus"), "\"kernel\""));
	assert_non_null(strstr(held_by("cpuWeight"), "\"kernel\""));
	cordon_policy_free(policy);
	policy = policy_of("{\"resourceLimits\":{\"timeoutMs\":2500}}");
	settle();
	run(spin);
	print_message("# without, for 2500 ms: %.0f ms\n", last.cpu_ms);
	assert_true(last.cpu_ms > 625); /* with it 500; others may need the machine, too */
	cordon_policy_free(policy);
	policy = kept;
}

static void many_at_once_and_nothing_is_left(void **state)
{
	(void)state;
	struct cordon_run *runs[20];
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < COUNT_OF(runs); i++)
			runs[i] =
				start(engine, (struct cordon_run_options){
						      .policy = policy, .argv = ARGV("sh", "-c", "sleep 0.02; echo $((6 * 7))") });
		for (size_t i = 0; i < COUNT_OF(runs); i++) {
			assert_string_equal(finish(runs[i])->output[0], "42\n");
			cordon_run_free(runs[i]);
		}
		rest(round == 1 ? REST_MS : 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_one, close_one)
		CASE(a_run_is_a_member_from_its_start),
		CASE(nor_does_it_need_rest),
		CASE(memory_is_held_at_once),
		CASE(processes_are_held_at_once),
		CASE(figures_begin_anew),
		CASE(what_stays_in_memory_is_not_the_next_ones),
		CASE(file_cache_is_no_memory_of_a_runs),
		CASE(processors_are_held_at_once),
		CASE(many_at_once_and_nothing_is_left),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, clean_up);
}
