# SPDX-License-Identifier: MIT
# bash completion for krcorectl(8)
_krcorectl()
{
	local word words="show stat host dev qp"
	local options="-j --json -H --human -h --help -V --version"
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		case $word in
		show)
			words= options="-j --json -H --human -l --listeners -p --processes -n --numeric -r --resolve -h --help"
			;;
		stat)
			words= options="-j --json -H --human -a --all -h --help"
			;;
		host|dev|qp)
			words= options="-j --json -H --human -h --help"
			;;
		esac
	done
	[[ ${COMP_WORDS[COMP_CWORD]} == -* ]] && words=$options
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -F _krcorectl krcorectl
