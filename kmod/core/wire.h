/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The bytes on the wire, version 1.  docs/PROTOCOL.md explains them; this pair
 * of files alone encodes and decodes them.  All integers are big-endian.
 *
 * Decoding never trusts a length: every kr_wire_get_* returns false, with the
 * output unspecified, when the bytes are too few or break a rule of the format.
 */
#ifndef KRCORE_CORE_WIRE_H
#define KRCORE_CORE_WIRE_H

#include "env.h"
#include "limits.h"

enum {
	KR_WIRE_VERSION = 1,
	KR_HDR_LEN = 40 + 8 * KR_SACK_WORDS,
	KR_MSG_HDR_LEN = 24,
	KR_DATA_LEN = 24,		/* DATA body before the payload */
	KR_WINDOW_LEN = 16,
	KR_CONNECT_LEN = 56,
	KR_ACCEPT_LEN = 8,
	KR_CODE_LEN = 4,		/* REJECT and RST */
	KR_CLOSED_LEN = 8,
	KR_GONE_LEN = 8,
	KR_END_LEN = 28,
	KR_PATH_LEN = 72,		/* PATH_REQ and PATH_REP */
	KR_OFFER_LEN = 32,
	KR_HELLO_LEN = 200,		/* question and answer */
};

/* Packet header flags. */
enum {
	KR_PF_ACK_NOW = 0x01,		/* acknowledge without delay */
	KR_PF_DEAF = 0x02,		/* by lanes: the sender hears nothing by UD */
	KR_PF_ALL = 0x03,
};

struct kr_hdr {
	u8 flags;
	u8 lane;			/* 1: by a lane, 0: by UD */
	u8 key_id;			/* 0: no cluster key */
	u16 body_len;			/* bytes after the header */
	u16 ack_delay;			/* units of 8 us */
	u64 tag;			/* receiver's association id, 0: none */
	u64 mac;			/* 0 without a cluster key */
	u64 pn;				/* packet number, 0: not numbered */
	u64 ack;			/* largest number received + 1, 0: none */
	u64 sack[KR_SACK_WORDS];			/* bit i of word w: ack - 2 - 64w - i */
};

enum kr_msg_type {
	KR_MSG_PING = 1,
	KR_MSG_CONNECT,
	KR_MSG_ACCEPT,
	KR_MSG_REJECT,
	KR_MSG_CANCEL,
	KR_MSG_DATA,
	KR_MSG_WINDOW,
	KR_MSG_RST,
	KR_MSG_CLOSED,
	KR_MSG_GONE,
	KR_MSG_PATH_REQ,
	KR_MSG_PATH_REP,
	KR_MSG_TYPE_MAX = KR_MSG_PATH_REP,
};

/* Message flags. */
enum {
	KR_MF_FIN = 0x01,		/* DATA: nothing follows pos + len */
	KR_MF_PROBE = 0x02,		/* WINDOW: answer with WINDOW now */
	KR_MF_AGAIN = 0x04,		/* WINDOW: what follows accepted was not kept */
};

struct kr_msg {
	u8 type;			/* enum kr_msg_type */
	u8 flags;
	u16 len;			/* body bytes after this header */
	u64 dst;			/* VQP id at the receiver, 0: none */
	u64 src;			/* VQP id at the sender, 0: none */
	const u8 *body;
};

struct kr_data {
	u64 pos;
	u64 accepted;			/* the other direction: bytes accepted */
	u64 edge;			/* the other direction: window edge */
	u32 len;
	const u8 *payload;
};

enum kr_conn_kind {
	KR_KIND_STREAM = 1,
	KR_KIND_MESSAGE = 2,
};

/* The tuple as the client dialled it.  IPv4 uses the first 4 bytes. */
struct kr_tuple {
	u8 family;			/* 4 or 6 */
	u16 sport;
	u16 dport;
	u8 saddr[16];
	u8 daddr[16];
};

struct kr_connect {
	u64 client;			/* VQP id; from the message's header */
	u64 cookie;			/* of the namespace dialled */
	u64 edge;			/* the client's window */
	u8 kind;			/* enum kr_conn_kind */
	struct kr_tuple tuple;
};

/* Why a CONNECT was refused; PROTOCOL.md has the table. */
enum kr_reject {
	KR_REJECT_NO_LISTENER = 1,
	KR_REJECT_POLICY,
	KR_REJECT_NAMESPACE,
	KR_REJECT_KIND,
	KR_REJECT_MEMORY,
};

enum kr_rst {
	KR_RST_ABORT = 1,		/* closed with unread data, linger 0 */
	KR_RST_UNKNOWN,			/* no such VQP here */
	KR_RST_PROTOCOL,		/* the peer broke the protocol */
	KR_RST_TIMEOUT,
};

/* One end of a path: where its UD queue pair is. */
struct kr_end {
	u8 gid[16];
	u32 qpn;
	u32 qkey;
	u16 mtu;			/* bytes of a UD message */
	u16 nr;				/* grows with each change within an association */
};

/* The same QP and MTU, whatever the number. */
bool kr_end_is_same(const struct kr_end *x, const struct kr_end *y);

struct kr_path_msg {
	u8 instance[16];		/* of the sender */
	u64 assoc;			/* the sender's association id */
	u64 peer_assoc;			/* the receiver's, 0: not known yet */
	u64 token;			/* from the hello answer (PATH_REQ) */
	u32 features;
	struct kr_end end;		/* of the sender */
};

enum kr_hello_op {
	KR_HELLO_ASK = 1,
	KR_HELLO_ANSWER = 2,
};

enum { KR_HELLO_ENDS = 4 };

/* Question and answer of the discovery, over UDP; same length both. */
struct kr_hello {
	u8 op;				/* enum kr_hello_op */
	u8 family;			/* of the addresses below */
	u8 nr_ends;
	u32 features;
	u64 nonce;			/* chosen by the asker, echoed */
	u64 cookie;			/* answer: of the namespace asked */
	u64 token;			/* answer: proof for PATH_REQ */
	u8 instance[16];		/* of the sender of this packet */
	u8 saddr[16];			/* asker's address: as it believes (ask), as seen (answer) */
	u8 daddr[16];			/* address asked */
	struct kr_end ends[KR_HELLO_ENDS];
};

/* What the two ends of a new RC QP or TCP connection tell each other first. */
struct kr_offer {
	u64 tag;			/* the receiver's association id */
	u64 assoc;			/* the sender's */
	u32 size;			/* bytes of a packet that the sender takes */
	u16 credits;			/* packets that the sender takes unanswered */
};

void kr_wire_put_hdr(u8 *p, const struct kr_hdr *h);
bool kr_wire_get_hdr(const u8 *p, size_t len, struct kr_hdr *h);

/* Encoders write a whole message and return its length in bytes. */
size_t kr_wire_put_msg(u8 *p, const struct kr_msg *m);
size_t kr_wire_put_data(u8 *p, struct kr_msg *m, const struct kr_data *d);
size_t kr_wire_put_window(u8 *p, struct kr_msg *m, u64 accepted, u64 edge);
size_t kr_wire_put_connect(u8 *p, struct kr_msg *m, const struct kr_connect *c);
size_t kr_wire_put_u64(u8 *p, struct kr_msg *m, u64 value);
size_t kr_wire_put_code(u8 *p, struct kr_msg *m, u32 code);
size_t kr_wire_put_end(u8 *p, struct kr_msg *m, const struct kr_end *e);
size_t kr_wire_put_path(u8 *p, struct kr_msg *m, const struct kr_path_msg *pm);

/*
 * The next message of [*p, end); advances *p.  False at the end or when the
 * bytes are malformed (then *p != end).  Checks type, flags and body length,
 * so that the decoders below cannot fail on what this returned.
 */
bool kr_wire_get_msg(const u8 **p, const u8 *end, struct kr_msg *m);
void kr_wire_get_data(const struct kr_msg *m, struct kr_data *d);
void kr_wire_get_window(const struct kr_msg *m, u64 *accepted, u64 *edge);
bool kr_wire_get_connect(const struct kr_msg *m, struct kr_connect *c);
u64 kr_wire_get_u64(const struct kr_msg *m);
u32 kr_wire_get_code(const struct kr_msg *m);
bool kr_wire_get_end(const struct kr_msg *m, struct kr_end *e);
bool kr_wire_get_path(const struct kr_msg *m, struct kr_path_msg *pm);

/* Writes exactly KR_OFFER_LEN bytes; reads that many. */
void kr_wire_put_offer(u8 *p, const struct kr_offer *o);
bool kr_wire_get_offer(const u8 *p, size_t len, struct kr_offer *o);

/* Writes exactly KR_HELLO_LEN bytes. */
void kr_wire_put_hello(u8 *p, const struct kr_hello *h);
bool kr_wire_get_hello(const u8 *p, size_t len, struct kr_hello *h);

const char *kr_msg_name(enum kr_msg_type type);

#endif
