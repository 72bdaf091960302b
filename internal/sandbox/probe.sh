# Tries what a confined command must not be able to do. Arguments: nonce, TCP port, UDP port, abstract name, files.
nonce=$1 tcp=$2 udp=$3 abstract=$4
shift 4
for f in "$@"; do
  if c=$(cat -- "$f" 2>/dev/null) && [ "$c" = "$nonce" ]; then echo "read $f"; fi
done
if (exec 3<>"/dev/tcp/127.0.0.1/$tcp") 2>/dev/null; then echo "tcp open"; fi
(echo "$nonce" >"/dev/udp/127.0.0.1/$udp") 2>/dev/null
state=untested
if command -v perl >/dev/null && perl -MSocket -e 1 2>/dev/null; then
  if perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 1; connect(S, pack("S", AF_UNIX) . "\0" . $ARGV[0]) or exit 1' "$abstract" 2>/dev/null
  then state=open; else state=shut; fi
elif command -v python3 >/dev/null && python3 -c 'import socket' 2>/dev/null; then
  if python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect("\0" + sys.argv[1])' "$abstract" 2>/dev/null
  then state=open; else state=shut; fi
fi
echo "unix $state"
if ns=$(readlink /proc/self/ns/net 2>/dev/null); then echo "netns $ns"; fi
echo "home $HOME"
echo "pwd $(pwd)"
echo "$nonce" >written
echo "done $nonce"
