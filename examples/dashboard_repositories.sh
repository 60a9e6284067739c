#!/bin/sh
# Creates the three repositories of dashboard_refactor.yaml next to the current folder, like three clones:
# ../relay-dashboard, ../relay-cloud and ../relay-cli, each with one commit. Existing folders do not change.
set -eu
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null

begin() {
    git init -q -b main "../$1"
    mkdir -p "../$1/src"
}
commit() {
    git -C "../$1" add .
    git -C "../$1" -c user.name=relay -c user.email=relay@localhost commit -q -m "$2"
}

if [ ! -e ../relay-dashboard ]; then
    begin relay-dashboard
    mkdir -p ../relay-dashboard/src/components ../relay-dashboard/tools
    for name in Chart:chart Table:table Panel:panel; do
        echo "export const ${name%:*} = async () => (await fetch('/api/${name#*:}')).text();" \
            > "../relay-dashboard/src/components/${name#*:}.ts"
    done
    cat > ../relay-dashboard/tools/imports.py <<'PY'
"""Counts the imports in the .ts files of a folder; exits 1 naming those that lead nowhere."""

import re
import sys
from pathlib import Path

KIT = Path(__file__).parents[1] / "packages/ui-kit/src/index"
found = [
    (file, name)
    for file in sorted(Path(sys.argv[1]).rglob("*.ts"))
    for name in re.findall(r'from "(.+?)"', file.read_text())
]
lost = [
    f"{file}: {name}"
    for file, name in found
    if not (KIT if name == "@relay/ui-kit" else file.parent / name).with_suffix(".ts").is_file()
]
print("\n".join(lost) or f"imports: {len(found)}, all resolve")
sys.exit(bool(lost))
PY
    commit relay-dashboard "A dashboard whose components fetch"
fi
if [ ! -e ../relay-cloud ]; then
    begin relay-cloud
    echo 'import { Table } from "../../relay-dashboard/src/components/table";' > ../relay-cloud/src/page.ts
    commit relay-cloud "A page that reaches into the dashboard"
fi
if [ ! -e ../relay-cli ]; then
    begin relay-cli
    echo 'import { Panel } from "../../relay-dashboard/src/components/panel";' > ../relay-cli/src/view.ts
    commit relay-cli "A view that reaches into the dashboard"
fi
