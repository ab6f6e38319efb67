// SPDX-License-Identifier: MIT
/*
 * socktest: socket behaviour between two hosts, compared with kernel TCP.
 *
 *   socktest server                            the agents' control service
 *   socktest client [-p PROTO] HOST [CASE...]  run the cases against it
 *
 * A CASE is a name or a prefix of names.  Prints one line per case and ends
 * with `N passed, N failed, N skipped`.
 */
#include <getopt.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "harness.h"

struct options {
	struct side side;
	int timeout_s;
	bool list;
};

static struct {
	int passed;
	int failed;
	int skipped;
} total;

static const struct test_case *const groups[] = {
	connect_cases, accept_cases, send_recv_cases, buffer_cases,
	poll_cases, epoll_cases, shutdown_cases, close_cases, options_cases,
	ioctl_cases, splice_cases, signals_cases, process_cases,
	threads_cases, self_cases, bulk_cases, many_cases, silent_cases,
};

enum long_option { OPT_SERVER_PROTO = 256, OPT_CLIENT_PROTO, OPT_BYTES,
		   OPT_CONNS, OPT_LOOPS, OPT_STREAMS, OPT_SEED, OPT_TIMEOUT,
		   OPT_LIST };

static const struct option long_options[] = {
	{ "server-proto", required_argument, NULL, OPT_SERVER_PROTO },
	{ "client-proto", required_argument, NULL, OPT_CLIENT_PROTO },
	{ "bytes", required_argument, NULL, OPT_BYTES },
	{ "conns", required_argument, NULL, OPT_CONNS },
	{ "loops", required_argument, NULL, OPT_LOOPS },
	{ "streams", required_argument, NULL, OPT_STREAMS },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void usage(FILE *out)
{
	fputs("usage: socktest server\n"
	      "       socktest client [-46] [-p tcp|krcore] [OPTION...] HOST [CASE...]\n"
	      "       socktest client --list\n"
	      "  -p PROTO              protocol of both sides (default krcore)\n"
	      "  --client-proto PROTO  protocol of this host's sockets\n"
	      "  --server-proto PROTO  protocol of the other host's sockets\n"
	      "  -4, -6                address family (default -4)\n"
	      "  --bytes N             size of each bulk transfer (default 8 MiB)\n"
	      "  --streams N           parallel connections of bulk (default 4)\n"
	      "  --conns N             connections of many (default 200)\n"
	      "  --loops N             rounds of churn (default 200)\n"
	      "  --seed N              seed of random choices\n"
	      "  --timeout S           limit for one case (default 300)\n"
	      "CASE is a name or the beginning of names.\n", out);
}

static int parse_proto(const char *word)
{
	if (!strcmp(word, "tcp"))
		return 0;
	if (!strcmp(word, "krcore"))
		return PROTO_KRCORE;
	fprintf(stderr, "socktest: unknown protocol '%s': tcp or krcore\n",
		word);
	exit(2);
}

static uint64_t parse_number(const char *word)
{
	char *end;
	uint64_t value = strtoull(word, &end, 0);

	if (end == word || *end) {
		fprintf(stderr, "socktest: '%s' is not a number\n", word);
		exit(2);
	}
	return value;
}

static bool take_number(struct options *o, int opt, const char *word)
{
	switch (opt) {
	case OPT_BYTES:
		o->side.bytes = parse_number(word);
		return true;
	case OPT_CONNS:
		o->side.conns = parse_number(word);
		return true;
	case OPT_LOOPS:
		o->side.loops = parse_number(word);
		return true;
	case OPT_STREAMS:
		o->side.streams = parse_number(word);
		return true;
	case OPT_SEED:
		o->side.seed = parse_number(word);
		return true;
	case OPT_TIMEOUT:
		o->timeout_s = parse_number(word);
		return true;
	default:
		return false;
	}
}

static void take_option(struct options *o, int opt)
{
	switch (opt) {
	case 'p':
		o->side.proto = o->side.peer_proto = parse_proto(optarg);
		break;
	case '4':
		o->side.family = AF_INET;
		break;
	case '6':
		o->side.family = AF_INET6;
		break;
	case OPT_CLIENT_PROTO:
		o->side.proto = parse_proto(optarg);
		break;
	case OPT_SERVER_PROTO:
		o->side.peer_proto = parse_proto(optarg);
		break;
	case OPT_LIST:
		o->list = true;
		break;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		if (take_number(o, opt, optarg))
			break;
		usage(stderr);
		exit(2);
	}
}

static bool is_wanted(const struct test_case *c, char **names, int nr)
{
	for (int i = 0; i < nr; i++)
		if (!strncmp(c->name, names[i], strlen(names[i])))
			return true;
	return nr == 0 && !(c->flags & EXPLICIT);
}

/* The process of one case. */
static void run_case(const struct test_case *c, struct side s, const char *host,
		     int timeout_s)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	peer_connect(&s, host, timeout_s + 10);
	c->run(&s);
	_exit(0);
}

/* Exit status of the case's process, or -1 after the timeout. */
static int await_case(pid_t pid, int timeout_s)
{
	struct pollfd p = { .fd = pidfd_open(pid, 0), .events = POLLIN };
	int ready = poll(&p, 1, timeout_s * 1000), status;

	close(p.fd);
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return ready == 1 ? status : -1;
}

static void print_result(const char *name, const char *end, int status,
			 const char *text, int ms)
{
	static int number;

	number++;
	if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		printf("ok %d - %s%s (%d ms)\n", number, name, end, ms);
		total.passed++;
	} else if (status != -1 && WIFEXITED(status) &&
		   WEXITSTATUS(status) == 77) {
		printf("ok %d - %s%s # SKIP %s\n", number, name, end, text);
		total.skipped++;
	} else {
		if (status == -1)
			text = text[0] ? text : "expected an end, got a timeout";
		else if (WIFSIGNALED(status) && !text[0])
			text = strsignal(WTERMSIG(status));
		printf("not ok %d - %s%s: %s\n", number, name, end, text);
		total.failed++;
	}
	fflush(stdout);
}

static void try_case(const struct test_case *c, const struct options *o,
		     const char *host, bool accepting)
{
	const char *end = !(c->flags & BOTH_ENDS) ? "" :
			  accepting ? ".accepted" : ".connected";
	int64_t start = now_ms();
	char text[800] = "";
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0 || (pid = fork()) < 0) {
		perror("socktest");
		exit(2);
	}
	if (pid == 0) {
		struct side s = o->side;

		s.accepting = accepting;
		report_fd = fds[1];
		run_case(c, s, host, o->timeout_s);
	}
	close(fds[1]);
	status = await_case(pid, o->timeout_s);
	n = read(fds[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	close(fds[0]);
	print_result(c->name, end, status, text, now_ms() - start);
}

static void visit(const struct test_case *c, const struct options *o,
		  char **args, int nr)
{
	if (!is_wanted(c, args + 1, nr ? nr - 1 : 0))
		return;
	if (o->list) {
		printf("%s\n", c->name);
		return;
	}
	try_case(c, o, args[0], false);
	if (c->flags & BOTH_ENDS)
		try_case(c, o, args[0], true);
}

static int client(struct options *o, char **args, int nr)
{
	struct rlimit files = { 1 << 20, 1 << 20 };

	setrlimit(RLIMIT_NOFILE, &files);
	if (!nr && !o->list) {
		usage(stderr);
		return 2;
	}
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (const struct test_case *c = groups[g]; c->name; c++)
			visit(c, o, args, nr);
	if (o->list)
		return 0;
	if (total.passed + total.failed + total.skipped == 0) {
		fprintf(stderr, "socktest: no such case\n");
		return 2;
	}
	printf("%d passed, %d failed, %d skipped\n", total.passed,
	       total.failed, total.skipped);
	return total.failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct options o = {
		.side = { .family = AF_INET, .proto = PROTO_KRCORE,
			  .peer_proto = PROTO_KRCORE, .bytes = 8 << 20,
			  .conns = 200, .loops = 200, .streams = 4,
			  .seed = 1 },
		.timeout_s = 300,
	};
	const char *role = argc > 1 ? argv[1] : "";
	const char *slow = getenv("LAB_SLOW");
	int opt;

	if (!strcmp(role, "exec-helper"))
		return process_exec_helper(argc - 2, argv + 2);
	if (strcmp(role, "server") && strcmp(role, "client")) {
		usage(stderr);
		return 2;
	}
	argc--;
	argv++;
	while ((opt = getopt_long(argc, argv, "p:46h", long_options, NULL)) >= 0)
		take_option(&o, opt);
	if (slow && atoi(slow) > 1)
		o.timeout_s *= atoi(slow);
	if (!strcmp(role, "server")) {
		struct rlimit files = { 1 << 20, 1 << 20 };

		setrlimit(RLIMIT_NOFILE, &files);
		return agent_serve_forever();
	}
	return client(&o, argv + optind, argc - optind);
}
