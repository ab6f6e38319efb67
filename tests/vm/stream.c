// SPDX-License-Identifier: MIT
/*
 * Byte streams that know their position: byte p of a stream is a function of
 * (seed, p), so a lost, repeated, swapped or changed byte is found at its
 * place, whatever the sizes of the calls on both sides.
 */
#include "harness.h"

enum { CHUNK = 1 << 20, ONE_CALL = 65536, FULL_MAX = 64 << 20 };

static uint64_t mix64(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static uint8_t stream_byte(uint64_t seed, uint64_t pos)
{
	return mix64(seed * 0x9e3779b97f4a7c15ULL + pos / 8) >> pos % 8 * 8;
}

void stream_fill(uint64_t seed, uint64_t pos, void *buf, size_t len)
{
	uint8_t *out = buf;

	for (; len && pos % 8; len--)
		*out++ = stream_byte(seed, pos++);
	for (; len >= 8; len -= 8, pos += 8, out += 8) {
		uint64_t word = mix64(seed * 0x9e3779b97f4a7c15ULL + pos / 8);

		memcpy(out, &word, 8);
	}
	for (; len; len--)
		*out++ = stream_byte(seed, pos++);
}

bool stream_matches(uint64_t seed, uint64_t pos, const void *buf, size_t len)
{
	const uint8_t *in = buf;
	uint8_t want[4096];

	while (len) {
		size_t n = len < sizeof(want) ? len : sizeof(want);

		stream_fill(seed, pos, want, n);
		if (memcmp(in, want, n))
			return false;
		in += n;
		pos += n;
		len -= n;
	}
	return true;
}

uint64_t rng_next(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ULL;
	return mix64(*state);
}

/* A size from 1 to @max, every order of magnitude equally likely. */
size_t rng_size(uint64_t *state, size_t max)
{
	size_t top = (size_t)1 << rng_next(state) % 21;

	if (top > max)
		top = max;
	return 1 + rng_next(state) % top;
}

/* Send on a blocking or non-blocking socket; 0 or -errno. */
static int send_all(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = send(fd, buf, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd p = { .fd = fd, .events = POLLOUT };

			poll(&p, 1, PATIENCE_MS);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		buf += n;
		len -= n;
	}
	return 0;
}

/*
 * Bytes [pos, pos + len) of a stream: little in one call, so that it arrives
 * as one event, more in calls of random sizes.
 */
int64_t stream_send(int fd, uint64_t seed, uint64_t pos, uint64_t len)
{
	uint64_t rng = seed + pos, left = len;
	char *buf = malloc(CHUNK);
	int rc = 0;

	while (left && !rc) {
		size_t n = rng_size(&rng, left < CHUNK ? left : CHUNK);

		if (len <= ONE_CALL)
			n = len;
		stream_fill(seed, pos, buf, n);
		rc = send_all(fd, buf, n);
		pos += n;
		left -= n;
	}
	free(buf);
	return rc ? rc : (int64_t)len;
}

/* Exactly @len bytes checked by position; fewer at the end of the stream. */
int64_t stream_recv(int fd, uint64_t seed, uint64_t pos, uint64_t len)
{
	uint64_t rng = ~seed + pos, got = 0;
	char *buf = malloc(CHUNK);
	int rc = 0;

	while (got < len) {
		uint64_t left = len - got;
		size_t want = rng_size(&rng, left < CHUNK ? left : CHUNK);
		ssize_t n = recv(fd, buf, want, 0);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd p = { .fd = fd, .events = POLLIN };

			poll(&p, 1, PATIENCE_MS);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = -errno;
		else if (!stream_matches(seed, pos + got, buf, n))
			rc = -EBADMSG;
		if (rc || n == 0)
			break;
		got += n;
	}
	free(buf);
	return rc ? rc : (int64_t)got;
}

struct sender {
	int fd;
	uint64_t seed;
	uint64_t len;
	int64_t result;
};

static void *sender_run(void *arg)
{
	struct sender *tx = arg;

	tx->result = stream_send(tx->fd, tx->seed, 0, tx->len);
	if (tx->result >= 0)
		shutdown(tx->fd, SHUT_WR);
	return NULL;
}

/*
 * Both directions at once, each ended by a shutdown.  The seed of the case's
 * direction is SEED_CASE + 16 * n, the agent's SEED_AGENT + 16 * n; @seed is
 * the one we send with.  Bytes received, or -errno.
 */
int64_t stream_duplex(int fd, uint64_t seed, uint64_t tx_len, uint64_t rx_len)
{
	uint64_t theirs = seed ^ (SEED_CASE ^ SEED_AGENT);
	struct sender tx = { .fd = fd, .seed = seed, .len = tx_len };
	pthread_t thread;
	int64_t got;
	char extra;

	if (pthread_create(&thread, NULL, sender_run, &tx))
		return -EAGAIN;
	got = stream_recv(fd, theirs, 0, rx_len);
	if (got == (int64_t)rx_len && recv(fd, &extra, 1, 0) != 0)
		got = -EPROTO;
	pthread_join(thread, NULL);
	return tx.result < 0 ? tx.result : got;
}

void fill_ours(uint64_t pos, void *buf, size_t len)
{
	stream_fill(SEED_CASE, pos, buf, len);
}

void send_ours(int fd, uint64_t pos, size_t len)
{
	char *buf = malloc(len);

	fill_ours(pos, buf, len);
	CHECK_EQ(send(fd, buf, len, MSG_NOSIGNAL), len);
	free(buf);
}

/*
 * A socket that takes no more may have room again when its bytes have gone to the peer's
 * buffer, so only one that took none for a second is full, and the peer's with it.
 */
uint64_t send_until_full(int fd, uint64_t pos)
{
	int64_t quiet_since = now_ms();
	char buf[3000];

	while (now_ms() - quiet_since < 1000) {
		ssize_t n;

		fill_ours(pos, buf, sizeof(buf));
		n = send(fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0) {
			pos += n;
			quiet_since = now_ms();
			CHECK(pos < FULL_MAX);
			continue;
		}
		CHECK_ERR(n, EAGAIN);
		sleep_ms(10);
	}
	return pos;
}

void recv_theirs(int fd, uint64_t pos, size_t len)
{
	CHECK_EQ(stream_recv(fd, SEED_AGENT, pos, len), len);
}

void expect_theirs(uint64_t pos, const void *buf, size_t len)
{
	if (!stream_matches(SEED_AGENT, pos, buf, len))
		case_fail(__FILE__, __LINE__,
			  "expected bytes %llu..%llu of the stream, got others",
			  (unsigned long long)pos,
			  (unsigned long long)(pos + len));
}
