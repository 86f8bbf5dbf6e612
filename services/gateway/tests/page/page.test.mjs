// The page in a real browser, over real services. What it needs is in the environment:
// EMEND_URL, the gateway's address; EMEND_TRACE_URL, what the gateway has for it; EMEND_PEERS, the folder where
// playwright-core and axe-core are installed; CHROMIUM, the browser; SCREENSHOTS, a folder to write pictures to (optional).
import './questions.mjs';
import './walks.mjs';
import './streams.mjs';
import './documents.mjs';
import './failures.mjs';
import './everybody.mjs';
