/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hello on the wire: kernel UDP sockets that ask who is at an address and
 * that answer.  What an answer means is for peer.c.
 *
 * Neither kind of socket holds its network namespace; whoever opened one closes
 * it before the namespace is gone.  Both are made by workers, so that they
 * belong to the credentials and the cgroup of no task.
 */
#ifndef KRCORE_HELLO_H
#define KRCORE_HELLO_H

#include <krcore/uapi.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include "core/wire.h"

enum {
	KR_HELLO_BATCH = 64,		/* datagrams per run of a worker */
	KR_HELLO_LATE_MS = 3000,	/* after the grace time an answer counts */
	KR_HELLO_RATE = 4096,		/* questions heard per second and socket */
};

struct kr_netns;

/* One question: a connected socket.  Only the worker in @wakes uses it. */
struct kr_question {
	struct socket *sock;		/* NULL: closed */
	struct kr_hello hello;		/* as sent, with the true source address */
	u8 bytes[KR_HELLO_LEN];
	unsigned long started;		/* jiffies */
	unsigned int nr_sent;		/* copies due until now */
};

/* The socket that answers in one namespace for one address family. */
struct kr_answerer {
	/* fixed while open */
	struct kr_netns *ns;
	u8 family;			/* 4 or 6 */
	int err;			/* of opening */
	struct socket *sock;		/* NULL: closed */

	/* only the work touches */
	struct delayed_work work;
	unsigned long window;		/* jiffies: start of this second */
	unsigned int nr_heard;		/* in this second */
};

int kr_hello_init(void);
/* All questions and answerers must be closed. */
void kr_hello_exit(void);

/* Runs @work as a datagram or an error arrives, and peer.c's works. */
extern struct workqueue_struct *kr_hello_wq;

/*
 * Opens a socket from @saddr (all zero: any) to the hello port of @daddr.
 * @work, on kr_hello_wq, is run when something arrives.
 * Context: worker.  Return: 0 or -errno of bind or connect.
 */
int kr_question_open(struct kr_question *q, struct net *net, u8 family,
		     const u8 saddr[16], const u8 daddr[16],
		     struct delayed_work *work);
/* The grace time begins anew. */
void kr_question_restart(struct kr_question *q);
/*
 * Sends copies as they are due and reads what has arrived.
 * Return: 0 with *answer; -EAGAIN: nothing yet; -ETIMEDOUT: not even a late
 * answer; -EPROTO: an answer in another version; else the error of sending, or
 * that ICMP reported.
 */
int kr_question_run(struct kr_question *q, struct kr_hello *answer);
/* The grace time is over; the question goes on. */
bool kr_question_is_late(const struct kr_question *q);
/* Jiffies until it must be run again. */
unsigned long kr_question_next(const struct kr_question *q);
/* On return the work will not be queued by this question any more. */
void kr_question_close(struct kr_question *q);

/*
 * Opens the answering socket.  Without one (port taken, family missing) it
 * stays closed and a->err says why.  Context: may sleep.
 */
void kr_answerer_open(struct kr_answerer *a, struct kr_netns *ns, u8 family);
/* On return no answer is being given.  Context: may sleep. */
void kr_answerer_close(struct kr_answerer *a);

/* Address helpers shared by the rooms of discovery; @family is 4 or 6. */
static inline size_t kr_addr_len(u8 family)
{
	return family == 4 ? 4 : 16;
}

static inline bool kr_addr_is_any(u8 family, const u8 addr[16])
{
	return !memchr_inv(addr, 0, kr_addr_len(family));
}

static inline __be32 kr_addr_v4(const u8 addr[16])
{
	__be32 v4;

	memcpy(&v4, addr, sizeof(v4));
	return v4;
}

static inline struct in6_addr kr_addr_v6(const u8 addr[16])
{
	struct in6_addr v6;

	memcpy(&v6, addr, sizeof(v6));
	return v6;
}

#endif
