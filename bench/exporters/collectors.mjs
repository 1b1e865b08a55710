// Collectors in a process of their own, so that what they do is not measured; prints their URLs as one line of JSON.
import { createServer } from "node:http";
import { createServer as createSocketServer } from "node:net";

const listen = (server) =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}`));
  });

const taken = createServer((request, response) => {
  request.resume();
  request.on("end", () => response.end('{"success":true,"count":1}'));
});

/** Takes connections and everything that comes, and never says anything. */
const silent = createSocketServer((socket) => {
  socket.on("error", () => undefined);
  socket.resume();
});

/** Answers with as much as it is let. */
const flood = createSocketServer((socket) => {
  socket.on("error", () => undefined);
  const chunk = Buffer.alloc(65_536);
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.once("data", () => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n");
    socket.on("drain", more);
    more();
  });
});

/** A header every 20 ms, without end. */
const drip = createSocketServer((socket) => {
  socket.on("error", () => undefined);
  socket.write("HTTP/1.1 200 OK\r\n");
  const timer = setInterval(() => socket.write("x: y\r\n"), 20);
  socket.on("close", () => clearInterval(timer));
});

const servers = { taken, silent, flood, drip };
const urls = {};
for (const [name, server] of Object.entries(servers)) urls[name] = await listen(server);
console.log(JSON.stringify(urls));
// Ends with the process that started it.
process.stdin.on("end", () => process.exit(0)).resume();
