// What the Mask zoo asks of the server; a fault comes as the sentence that the server said.

export async function json(path, signal) {
  const response = await fetch(new URL(`viz/zoo${path}`, document.baseURI), { signal }).catch((fault) => {
    throw signal?.aborted ? fault : new Error("The server does not answer; is it still running?");
  });
  if (response.ok) return response.json();
  const fault = await response.json().catch(() => ({}));
  throw new Error(fault.message || `The server answered ${response.status}; try again.`);
}
