// SPDX-License-Identifier: MIT
/*
 * The agent: does socket operations on the server host for one case.  It
 * lives as long as the case's control connection and takes everything with
 * it when that ends, so a stuck case leaves nothing behind.
 */
#include <netdb.h>

#include "harness.h"

struct agent {
	int ctl;
	int family;
	int proto;
	struct addr caller;	/* the case's host, port 0 */
	int fds[AGENT_HANDLES];
};

static int64_t fd_or_errno(int fd)
{
	return fd < 0 ? -errno : fd;
}

static int64_t own_port(int fd)
{
	struct addr name = { .len = sizeof(name.ss) };

	if (getsockname(fd, &name.sa, &name.len) < 0)
		return -errno;
	return addr_get_port(&name);
}

static int64_t op_listen(struct agent *a, int h, int64_t backlog, int64_t buf)
{
	struct addr any = addr_any(a->family, 0);
	int size = buf, fd;

	fd = socket(a->family, SOCK_STREAM | SOCK_CLOEXEC, a->proto);
	if (fd < 0)
		return -errno;
	a->fds[h] = fd;
	if (size && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)))
		return -errno;
	if (bind(fd, &any.sa, any.len) < 0 || listen(fd, backlog) < 0)
		return -errno;
	return own_port(fd);
}

static int64_t op_accept(struct agent *a, int h, int64_t into)
{
	struct addr from = { .len = sizeof(from.ss) };
	int fd = accept4(a->fds[h], &from.sa, &from.len, SOCK_CLOEXEC);

	if (fd < 0)
		return -errno;
	a->fds[into] = fd;
	return addr_get_port(&from);
}

static int64_t op_connect(struct agent *a, int h, int64_t port, int flags)
{
	struct addr to = addr_port(&a->caller, port);
	int fd = socket(to.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | flags,
			a->proto);

	if (fd < 0)
		return -errno;
	a->fds[h] = fd;
	if (connect(fd, &to.sa, to.len) < 0)
		return flags && errno == EINPROGRESS ? 0 : -errno;
	return own_port(fd);
}

static int64_t op_connect_many(struct agent *a, int h, int64_t port, int64_t nr)
{
	for (int64_t i = 0; i < nr; i++) {
		int64_t rc = op_connect(a, h + i, port, 0);

		if (rc < 0)
			return rc;
	}
	return nr;
}

static int64_t op_send_pieces(int fd, int64_t pos, int64_t len)
{
	for (int64_t done = 0; done < len;) {
		int64_t n = len / 10 + 1, rc;

		if (n > len - done)
			n = len - done;
		rc = stream_send(fd, SEED_AGENT, pos + done, n);
		if (rc < 0)
			return rc;
		done += n;
		sleep_ms(20);
	}
	return len;
}

static int64_t op_recv_raw(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	return n < 0 ? -errno : n;
}

static int64_t op_sink(int fd, int64_t pos)
{
	char *buf = malloc(1 << 16);
	int64_t got = 0, rc = 0;

	for (;;) {
		ssize_t n = recv(fd, buf, 1 << 16, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = -errno;
		else if (!stream_matches(SEED_CASE, pos + got, buf, n))
			rc = -EBADMSG;
		if (rc || n == 0)
			break;
		got += n;
	}
	free(buf);
	return rc ? rc : got;
}

static int64_t op_echo(int fd)
{
	char buf[16384];
	int64_t total = 0;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		for (ssize_t done = 0, m; done < n; done += m) {
			m = send(fd, buf + done, n - done, MSG_NOSIGNAL);
			if (m < 0)
				return -errno;
		}
		total += n;
	}
	return n < 0 ? -errno : total;
}

struct duplex {
	pthread_t thread;
	int fd;
	uint64_t seed;
	uint64_t len;
	int64_t result;
};

static void *duplex_run(void *arg)
{
	struct duplex *d = arg;

	d->result = stream_duplex(d->fd, d->seed, d->len, d->len);
	return NULL;
}

static int64_t op_duplex_many(struct agent *a, int h, int64_t len, int64_t nr)
{
	struct duplex *d = calloc(nr, sizeof(*d));
	int64_t rc = 0;

	for (int64_t i = 0; i < nr; i++) {
		d[i] = (struct duplex){ .fd = a->fds[h + i], .len = len,
					.seed = SEED_AGENT + 16 * i };
		if (pthread_create(&d[i].thread, NULL, duplex_run, &d[i]))
			abort();
	}
	for (int64_t i = 0; i < nr; i++) {
		pthread_join(d[i].thread, NULL);
		if (d[i].result < 0)
			rc = d[i].result;
		else if (rc >= 0)
			rc += d[i].result;
	}
	free(d);
	return rc;
}

/* Echo on every connection of @listener until that many have ended. */
int64_t agent_echo_many(int listener, int64_t connections)
{
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = listener };
	int64_t ended = 0;
	char buf[4096];

	epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev);
	while (ended < connections) {
		ssize_t n;
		int fd;

		if (epoll_wait(ep, &ev, 1, -1) < 1)
			continue;
		fd = ev.data.fd;
		if (fd == listener) {
			ev.data.fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
			if (ev.data.fd < 0)
				return -errno;
			ev.events = EPOLLIN;
			epoll_ctl(ep, EPOLL_CTL_ADD, ev.data.fd, &ev);
			continue;
		}
		n = recv(fd, buf, sizeof(buf), 0);
		if (n > 0 && send(fd, buf, n, MSG_NOSIGNAL) == n)
			continue;
		if (n < 0)
			return -errno;
		close(fd);
		ended++;
	}
	close(ep);
	return ended;
}

static int64_t op_close(struct agent *a, int h, bool reset)
{
	struct linger now = { .l_onoff = 1 };
	int fd = a->fds[h];

	if (reset && setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)))
		return -errno;
	a->fds[h] = -1;
	return fd_or_errno(close(fd));
}

static int64_t op_queued(int fd)
{
	int queued = 0;

	if (ioctl(fd, FIONREAD, &queued) < 0)
		return -errno;
	return queued;
}

static int64_t op_wait_queued(int fd, int64_t want)
{
	int64_t queued;

	while ((queued = op_queued(fd)) >= 0 && queued != want)
		sleep_ms(2);
	return queued;
}

static int64_t op_setopt(int fd, int64_t name, int64_t value)
{
	int v = value;

	return fd_or_errno(setsockopt(fd, name >> 16, name & 0xffff, &v,
				      sizeof(v)));
}

static int64_t op_serve(struct agent *a, int h, int64_t connections)
{
	return agent_echo_many(a->fds[h], connections);
}

/* Operations on connections that move data. */
static int64_t run_data(struct agent *a, const struct agent_request *rq)
{
	int fd = a->fds[rq->handle];

	switch (rq->op) {
	case AGENT_SEND:
		return stream_send(fd, SEED_AGENT, rq->a, rq->b);
	case AGENT_SEND_PIECES:
		return op_send_pieces(fd, rq->a, rq->b);
	case AGENT_RECV:
		return stream_recv(fd, SEED_CASE, rq->a, rq->b);
	case AGENT_RECV_RAW:
		return op_recv_raw(fd);
	case AGENT_SINK:
		return op_sink(fd, rq->a);
	case AGENT_ECHO:
		return op_echo(fd);
	case AGENT_DUPLEX:
		return stream_duplex(fd, SEED_AGENT, rq->a, rq->b);
	case AGENT_DUPLEX_MANY:
		return op_duplex_many(a, rq->handle, rq->a, rq->b);
	default:
		return -EOPNOTSUPP;
	}
}

static int64_t run_request(struct agent *a, const struct agent_request *rq)
{
	int h = rq->handle, fd = a->fds[h];

	switch (rq->op) {
	case AGENT_LISTEN:
		return op_listen(a, h, rq->a, rq->b);
	case AGENT_ACCEPT:
		return op_accept(a, h, rq->a);
	case AGENT_CONNECT:
		return op_connect(a, h, rq->a, 0);
	case AGENT_CONNECT_START:
		return op_connect(a, h, rq->a, SOCK_NONBLOCK);
	case AGENT_CONNECT_MANY:
		return op_connect_many(a, h, rq->a, rq->b);
	case AGENT_SERVE:
		return op_serve(a, h, rq->a);
	case AGENT_SHUTDOWN:
		return fd_or_errno(shutdown(fd, rq->a));
	case AGENT_CLOSE:
		return op_close(a, h, false);
	case AGENT_RESET:
		return op_close(a, h, true);
	case AGENT_SETOPT:
		return op_setopt(fd, rq->a, rq->b);
	case AGENT_QUEUED:
		return op_queued(fd);
	case AGENT_WAIT_QUEUED:
		return op_wait_queued(fd, rq->a);
	case AGENT_NAME:
		return own_port(fd);
	case AGENT_PING:
		return 0;
	default:
		return run_data(a, rq);
	}
}

static bool read_all(int fd, void *buf, size_t len)
{
	return recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len;
}

/* End the process when the control connection ends, whatever it is doing. */
static void *watch_control(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLRDHUP };

	while (poll(&p, 1, -1) < 1)
		;
	_exit(0);
}

static void agent_run(struct agent *a)
{
	struct agent_request rq;
	pthread_t watcher;

	memset(a->fds, -1, sizeof(a->fds));
	signal(SIGPIPE, SIG_IGN);
	if (pthread_create(&watcher, NULL, watch_control, &a->ctl))
		_exit(1);
	while (read_all(a->ctl, &rq, sizeof(rq))) {
		int64_t reply = -EINVAL;

		if (rq.delay_ms)
			sleep_ms(rq.delay_ms);
		if (rq.handle >= 0 && rq.handle < AGENT_HANDLES)
			reply = run_request(a, &rq);
		if (send(a->ctl, &reply, sizeof(reply), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

static void agent_start(int ctl)
{
	static struct agent a;
	struct agent_hello hello;
	struct addr from;

	if (!read_all(ctl, &hello, sizeof(hello)) || hello.magic != AGENT_MAGIC)
		_exit(1);
	from = addr_peer(ctl);
	from = addr_unmap(&from);
	a.ctl = ctl;
	a.family = hello.family;
	a.proto = hello.proto;
	a.caller = addr_port(&from, 0);
	alarm(hello.timeout_s);
	agent_run(&a);
}

/* The control service.  Its own sockets are always kernel TCP. */
int agent_serve_forever(void)
{
	struct addr any = addr_any(AF_INET6, CONTROL_PORT);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0) {
		any = addr_any(AF_INET, CONTROL_PORT);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	}
	signal(SIGCHLD, SIG_IGN);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, &any.sa, any.len) < 0 || listen(fd, 64) < 0) {
		perror("socktest: control port");
		return 1;
	}
	for (;;) {
		int ctl = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (ctl < 0)
			continue;
		if (fork() == 0) {
			close(fd);
			report_fd = STDERR_FILENO;
			agent_start(ctl);
		}
		close(ctl);
	}
}

/* ---- the case's side of the control connection ---- */

void peer_start(struct side *s, int delay_ms, enum agent_op op, int handle,
		int64_t a, int64_t b)
{
	struct agent_request rq = {
		.op = op, .handle = handle, .delay_ms = delay_ms,
		.a = a, .b = b,
	};

	CHECK_EQ(send(s->ctl, &rq, sizeof(rq), MSG_NOSIGNAL), sizeof(rq));
}

long long peer_wait(struct side *s)
{
	int64_t reply = 0;
	size_t got = 0;

	while (got < sizeof(reply)) {
		ssize_t n = recv(s->ctl, (char *)&reply + got,
				 sizeof(reply) - got, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			case_fail(__FILE__, __LINE__,
				  "expected the agent's reply, got its end");
		got += n;
	}
	if (reply >= 0)
		return reply;
	errno = -reply;
	return -1;
}

long long peer(struct side *s, enum agent_op op, int handle, int64_t a,
	       int64_t b)
{
	peer_start(s, 0, op, handle, a, b);
	return peer_wait(s);
}

/* Reach the control service on @host; fills in the side's addresses. */
void peer_connect(struct side *s, const char *host, int timeout_s)
{
	struct addrinfo hints = { .ai_family = s->family,
				  .ai_socktype = SOCK_STREAM }, *info;
	struct agent_hello hello = {
		.magic = AGENT_MAGIC, .family = s->family,
		.proto = s->peer_proto, .timeout_s = timeout_s,
		.bytes = s->bytes, .seed = s->seed,
	};
	char port[16];
	int rc, one = 1;

	snprintf(port, sizeof(port), "%d", CONTROL_PORT);
	rc = getaddrinfo(host, port, &hints, &info);
	if (rc)
		case_fail(__FILE__, __LINE__, "%s: %s", host, gai_strerror(rc));
	s->ctl = CHECK_OK(socket(s->family, SOCK_STREAM | SOCK_CLOEXEC, 0));
	CHECK_OK(setsockopt(s->ctl, IPPROTO_TCP, TCP_NODELAY, &one,
			    sizeof(one)));
	CHECK_OK(connect(s->ctl, info->ai_addr, info->ai_addrlen));
	freeaddrinfo(info);
	CHECK_EQ(send(s->ctl, &hello, sizeof(hello), 0), sizeof(hello));
	s->local = addr_local(s->ctl);
	s->local = addr_port(&s->local, 0);
	s->remote = addr_peer(s->ctl);
	s->remote = addr_port(&s->remote, 0);
}
