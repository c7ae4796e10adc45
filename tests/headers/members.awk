# SPDX-License-Identifier: Apache-2.0
# Names of the members of structs, one a line. Input: headers without comments.
{ text = text " " $0 }

# The text after the name of a declarator: an array, or the parameters of a callback.
function name_of(declarator)
{
    if (match(declarator, /\(\*[a-z0-9_]+\)/))
        return substr(declarator, RSTART + 2, RLENGTH - 3)
    gsub(/\[[^]]*\]/, "", declarator)
    return match(declarator, /[A-Za-z0-9_]+ *$/) ? substr(declarator, RSTART, RLENGTH) : ""
}

END {
    while (match(text, /struct +[a-z0-9_]+ *\{[^{}]*\}/)) {
        body = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        sub(/^[^{]*\{/, "", body)
        sub(/\}$/, "", body)
        count = split(body, declaration, ";")
        for (i = 1; i <= count; i++) {
            if (declaration[i] ~ /\(\*/) {
                print name_of(declaration[i])
                continue
            }
            parts = split(declaration[i], declarator, ",")
            for (k = 1; k <= parts; k++)
                if (name_of(declarator[k]) != "")
                    print name_of(declarator[k])
        }
    }
}
