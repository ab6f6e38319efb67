/* SPDX-License-Identifier: MIT */
/*
 * hub: joins the links of more than two lab hosts.
 *
 *	hub FD FD ...
 *
 * Each FD is a stream socket to one QEMU's "-netdev stream": frames, each
 * after its length as four bytes, big-endian.  The hub learns which address
 * is behind which link and floods what it does not know.  It loses nothing:
 * a link is not read while its frame finds no room on its way out.  Only a
 * link that takes nothing for STUCK_MS (a host that has stopped) is left
 * behind, so that it does not stop the others.  Ends when all links have.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
	MAX_LINKS = 64,
	MAX_ADDRS = 256,
	MAX_FRAME = 70000,
	IN_LEN = 1 << 18,
	OUT_LEN = 1 << 20,
	STUCK_MS = 2000,
	HEAD = 4,
	MAC = 6,
};

struct link {
	int fd;			/* -1 once closed */
	bool blocked;		/* its next frame waits for room elsewhere */
	size_t in_len, out_len, out_at;
	long long moved_ms;	/* when something last went out, or none had to */
	uint8_t in[IN_LEN], out[OUT_LEN];
};

struct addr {
	uint8_t mac[MAC];
	int link;
};

static struct link links[MAX_LINKS];
static struct addr addrs[MAX_ADDRS];
static int nr_links, nr_addrs;

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* The link behind which an address was last seen, or -1. */
static int addr_find(const uint8_t *mac)
{
	for (int i = 0; i < nr_addrs; i++)
		if (!memcmp(addrs[i].mac, mac, MAC))
			return addrs[i].link;
	return -1;
}

static void addr_learn(const uint8_t *mac, int from)
{
	int i;

	if (mac[0] & 1)
		return;
	for (i = 0; i < nr_addrs; i++)
		if (!memcmp(addrs[i].mac, mac, MAC))
			break;
	if (i == MAX_ADDRS)
		return;
	if (i == nr_addrs)
		memcpy(addrs[nr_addrs++].mac, mac, MAC);
	addrs[i].link = from;
}

static bool link_has_room(const struct link *l, size_t len)
{
	return OUT_LEN - (l->out_len - l->out_at) >= len;
}

static bool link_is_stuck(const struct link *l)
{
	return l->out_len > l->out_at && now_ms() - l->moved_ms > STUCK_MS;
}

static void link_close(struct link *l)
{
	l->fd = -1;
	l->in_len = l->out_len = l->out_at = 0;
	l->blocked = false;
}

static void link_queue(struct link *l, const uint8_t *frame, size_t len)
{
	if (l->out_at == l->out_len) {
		l->out_at = l->out_len = 0;
		l->moved_ms = now_ms();
	}
	if (l->out_len + len > OUT_LEN) {
		memmove(l->out, l->out + l->out_at, l->out_len - l->out_at);
		l->out_len -= l->out_at;
		l->out_at = 0;
	}
	memcpy(l->out + l->out_len, frame, len);
	l->out_len += len;
}

/* Queue one frame, head included, on its ways out; false if one is full. */
static bool forward(int from, const uint8_t *frame, size_t len)
{
	bool to[MAX_LINKS] = { false };
	int only = -1;

	if (len >= HEAD + 2 * MAC) {
		addr_learn(frame + HEAD + MAC, from);
		only = addr_find(frame + HEAD);
	}
	for (int i = 0; i < nr_links; i++) {
		if (i == from || links[i].fd < 0 || (only >= 0 && i != only))
			continue;
		if (link_has_room(&links[i], len))
			to[i] = true;
		else if (!link_is_stuck(&links[i]))
			return false;
	}
	for (int i = 0; i < nr_links; i++)
		if (to[i])
			link_queue(&links[i], frame, len);
	return true;
}

/* Forward all whole frames that a link has brought. */
static void link_drain(int from)
{
	struct link *l = &links[from];
	size_t at = 0;

	l->blocked = false;
	while (l->in_len - at >= HEAD) {
		uint32_t len;

		memcpy(&len, l->in + at, HEAD);
		len = ntohl(len);
		if (len > MAX_FRAME) {
			fprintf(stderr, "hub: frame of %u bytes\n", len);
			link_close(l);
			return;
		}
		if (l->in_len - at < HEAD + len)
			break;
		if (!forward(from, l->in + at, HEAD + len)) {
			l->blocked = true;
			break;
		}
		at += HEAD + len;
	}
	memmove(l->in, l->in + at, l->in_len - at);
	l->in_len -= at;
}

static bool is_transient(ssize_t got)
{
	return got < 0 && (errno == EAGAIN || errno == EINTR);
}

static void link_read(int from)
{
	struct link *l = &links[from];
	ssize_t got = recv(l->fd, l->in + l->in_len, IN_LEN - l->in_len,
			   MSG_DONTWAIT);

	if (got > 0)
		l->in_len += got;
	else if (!is_transient(got))
		link_close(l);
}

static void link_write(struct link *l)
{
	ssize_t put = send(l->fd, l->out + l->out_at, l->out_len - l->out_at,
			   MSG_DONTWAIT | MSG_NOSIGNAL);

	if (put > 0) {
		l->out_at += put;
		l->moved_ms = now_ms();
	} else if (!is_transient(put)) {
		link_close(l);
	}
}

/* One round: returns false when no link is left. */
static bool turn(void)
{
	struct pollfd pfds[MAX_LINKS];
	int open = 0, blocked = 0;

	for (int i = 0; i < nr_links; i++) {
		struct link *l = &links[i];

		pfds[i] = (struct pollfd){ .fd = l->fd };
		if (!l->blocked && l->in_len < IN_LEN)
			pfds[i].events |= POLLIN;
		if (l->out_len > l->out_at)
			pfds[i].events |= POLLOUT;
		open += l->fd >= 0;
		blocked += l->blocked;
	}
	if (!open)
		return false;
	poll(pfds, nr_links, blocked ? STUCK_MS / 10 : -1);
	for (int i = 0; i < nr_links; i++) {
		if (pfds[i].revents & (POLLOUT | POLLERR) && links[i].fd >= 0 &&
		    links[i].out_len > links[i].out_at)
			link_write(&links[i]);
		if (pfds[i].revents & (POLLIN | POLLHUP) && links[i].fd >= 0)
			link_read(i);
	}
	for (int i = 0; i < nr_links; i++)
		if (links[i].in_len)
			link_drain(i);
	return true;
}

int main(int argc, char **argv)
{
	if (argc < 2 || argc > MAX_LINKS + 1) {
		fprintf(stderr, "usage: hub FD ... (at most %d)\n", MAX_LINKS);
		return 2;
	}
	nr_links = argc - 1;
	for (int i = 0; i < nr_links; i++)
		links[i].fd = atoi(argv[i + 1]);
	while (turn())
		;
	return 0;
}
