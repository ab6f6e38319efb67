// SPDX-License-Identifier: MIT
/*
 * policy: which sockets become krcore sockets, and when TCP takes over.
 *
 * Owns the meaning of KRCORE, KRCORE_FALLBACK and KRCORE_VERBOSE.  Makes no
 * system call: shim.c asks the kernel and brings the answer back here.
 */
#include "policy.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static bool is_word(const char *value, const char *word)
{
	return value && strcmp(value, word) == 0;
}

/**
 * kr_policy_parse() - fill a policy from the values of its variables
 * @policy: the policy
 * @krcore: value of KRCORE, or NULL
 * @fallback: value of KRCORE_FALLBACK, or NULL
 * @verbose: value of KRCORE_VERBOSE, or NULL
 *
 * An unknown value counts as an unset variable: a typing error must not
 * change what an unmodified program does.
 *
 * Context: any, a signal handler included.
 */
void kr_policy_parse(struct kr_policy *policy, const char *krcore,
		     const char *fallback, const char *verbose)
{
	policy->enabled = !is_word(krcore, "off");
	policy->fallback = is_word(fallback, "fail") ? KR_FALLBACK_FAIL
						     : KR_FALLBACK_TCP;
	policy->verbose = is_word(verbose, "1");
}

static bool is_tcp(int family, int type, int protocol)
{
	if (family != AF_INET && family != AF_INET6)
		return false;
	if ((type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM)
		return false;
	return protocol == IPPROTO_IP || protocol == IPPROTO_TCP;
}

/**
 * kr_policy_choose() - say what a socket() call asks for
 * @policy: the policy
 * @family: first argument of socket()
 * @type: second argument, with its flags
 * @protocol: third argument
 *
 * A type with flags that we do not know is left alone, so that the kernel
 * judges it as it would have without us.
 *
 * Context: any, a signal handler included.
 * Return: the choice.
 */
enum kr_choice kr_policy_choose(const struct kr_policy *policy, int family,
				int type, int protocol)
{
	if (!is_tcp(family, type, protocol))
		return KR_CHOICE_OTHER;
	return policy->enabled ? KR_CHOICE_KRCORE : KR_CHOICE_OFF;
}

/**
 * kr_policy_judge() - say what follows from the kernel's answer
 * @policy: the policy
 * @answer: fd, or -errno
 *
 * Only the answers of a kernel without the module are remembered.  Where a
 * sandbox or a missing address family may be the reason, TCP is asked too
 * and its answer is the true one.  A shortage (EMFILE, ENOMEM, ...) is true
 * for TCP as well.
 *
 * Context: any, a signal handler included.
 * Return: the verdict.
 */
enum kr_verdict kr_policy_judge(const struct kr_policy *policy, int answer)
{
	if (answer >= 0 || policy->fallback == KR_FALLBACK_FAIL)
		return KR_VERDICT_KEEP;
	switch (-answer) {
	case EPROTONOSUPPORT:
	case ESOCKTNOSUPPORT:
		return KR_VERDICT_ABSENT;
	case EINVAL:
	case EAFNOSUPPORT:
	case EACCES:
	case EPERM:
		return KR_VERDICT_TCP;
	default:
		return KR_VERDICT_KEEP;
	}
}
