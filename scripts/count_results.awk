# Adds up what test logs say: `awk -f count_results.awk LOG...` prints "passed failed skipped".
# A log counts its CUnit cases, its pytest results or its own closing line `N passed, N failed`;
# without any of these the result that Automake recorded at its end counts as one.
# SPDX-License-Identifier: Apache-2.0
FNR == 1 { flush() }
/^ +tests +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+/ { p += $4; f += $5; known = 1 }
/^(=+ )?[0-9]+ (passed|failed|skipped|error|errors|xfailed|xpassed|deselected|warning|warnings|no tests ran)/ {
    line = $0
    while (match(line, /[0-9]+ (passed|failed|skipped|errors?|xfailed|xpassed)/)) {
        split(substr(line, RSTART, RLENGTH), w, " ")
        if (w[2] == "passed" || w[2] == "xfailed") p += w[1]
        else if (w[2] == "skipped") s += w[1]
        else f += w[1]
        known = 1
        line = substr(line, RSTART + RLENGTH)
    }
}
# A program that was killed leaves a line unfinished, so the result need not begin its line.
match($0, /(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR) [^ ]+ \(exit status: [0-9]+\)$/) {
    split(substr($0, RSTART), w, " ")
    result = w[1]
}
END { flush(); print passed + 0, failed + 0, skipped + 0 }

function flush() {
    if (known) {
        # A program that died after its last case must not pass.
        if (f == 0 && (result == "FAIL" || result == "ERROR")) f = 1
        passed += p; failed += f; skipped += s
    } else if (result == "PASS" || result == "XFAIL") passed++
    else if (result == "SKIP") skipped++
    else if (result != "") failed++
    p = f = s = known = 0
    result = ""
}
