/** The frame while it is unknown who is signed in: the same as in index.html, so that nothing moves. */
export function Boot() {
  return (
    <div className="boot" style={{ margin: 0 }}>
      <header>
        <img src="/icon.svg" alt="" width={22} height={22} />
        Berth
      </header>
      <nav />
      <main aria-busy>
        <p>Loading Berth…</p>
      </main>
    </div>
  );
}
