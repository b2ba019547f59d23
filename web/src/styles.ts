/** Every sheet, in the order in which they build on each other. */
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/lists.css";
import "./styles/run.css";
import "./styles/transcript.css";
import "./styles/details.css";
import "./styles/payload.css";
import "./styles/kept.css";
import "./styles/events.css";
import "./styles/access.css";
import "./styles/print.css";
