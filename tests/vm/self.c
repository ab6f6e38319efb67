// SPDX-License-Identifier: MIT
/*
 * Client and server in one process: over this host's own address and over
 * loopback, in one thread.
 */
#include "harness.h"

struct ends {
	int a;
	int b;
};

static struct addr loopback(struct side *s)
{
	struct addr lo = addr_any(s->family, 0);

	if (s->family == AF_INET6)
		lo.in6.sin6_addr = in6addr_loopback;
	else
		lo.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return lo;
}

static struct ends connect_self(struct side *s, struct addr host)
{
	int lfd = sock_listen(s, 4);
	struct addr name = addr_local(lfd);
	struct addr to = addr_port(&host, addr_get_port(&name));
	struct ends e;

	e.a = sock_new(s, 0);
	CHECK_EQ(connect(e.a, &to.sa, to.len), 0);
	e.b = CHECK_OK(accept(lfd, NULL, NULL));
	name = addr_local(e.a);
	to = addr_peer(e.b);
	CHECK_EQ(addr_get_port(&name), addr_get_port(&to));
	CHECK(addr_same_host(&name, &to));
	CHECK(addr_same_host(&to, &host));
	CHECK_OK(close(lfd));
	return e;
}

static void move(int from, int to, uint64_t pos, size_t len)
{
	char *buf = malloc(len), *back = malloc(len);

	fill_ours(pos, buf, len);
	CHECK_EQ(send(from, buf, len, 0), len);
	CHECK_EQ(recv(to, back, len, MSG_WAITALL), len);
	CHECK(!memcmp(buf, back, len));
	free(buf);
	free(back);
}

static void talk(struct ends e)
{
	char byte;

	for (int i = 0; i < 100; i++) {
		move(e.a, e.b, i, 1 + i * 37);
		move(e.b, e.a, i, 1 + i * 41);
	}
	CHECK_OK(shutdown(e.a, SHUT_WR));
	CHECK_EQ(recv(e.b, &byte, 1, 0), 0);
	move(e.b, e.a, 0, 1000);
	CHECK_OK(close(e.b));
	CHECK_EQ(recv(e.a, &byte, 1, 0), 0);
}

static void own_address(struct side *s)
{
	talk(connect_self(s, s->local));
}

static void own_loopback(struct side *s)
{
	talk(connect_self(s, loopback(s)));
}

static void refused(struct side *s)
{
	struct addr to = addr_port(&s->local, 1);
	int fd = sock_new(s, 0);

	CHECK_ERR(connect(fd, &to.sa, to.len), ECONNREFUSED);
}

struct shovel {
	int fd;
	uint64_t len;
};

static void *shovel_run(void *arg)
{
	struct shovel *sh = arg;

	CHECK_EQ(stream_duplex(sh->fd, SEED_AGENT, sh->len, sh->len), sh->len);
	return NULL;
}

static void bulk(struct side *s)
{
	struct ends e = connect_self(s, s->local);
	struct shovel sh = { .fd = e.b, .len = s->bytes / 4 };
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, shovel_run, &sh), 0);
	CHECK_EQ(stream_duplex(e.a, SEED_CASE, sh.len, sh.len), sh.len);
	pthread_join(thread, NULL);
}

const struct test_case self_cases[] = {
	{ "self.own_address", own_address, 0 },
	{ "self.loopback", own_loopback, 0 },
	{ "self.refused", refused, 0 },
	{ "self.bulk", bulk, 0 },
	{ 0 },
};
