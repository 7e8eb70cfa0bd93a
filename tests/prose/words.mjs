// The dictionary: expressions that do not belong in Warren's prose, and what to write instead.
//
// `find` is matched against whole sentences, ignoring case. Code spans, double-quoted text and placeholders are each
// replaced by the word `code` before that. `bad` and `good` are tests: every entry must be found in each of
// its `bad` sentences, and no entry of the dictionary in any `good` sentence.

const nouns =
  "access token|account|address|alias|allocation|archive|binary|branch|bucket|certificate|claim|client|config|connection|copy of|diagram|directory|directories|" +
  "disk|document|endpoint|entry|entries|file|firewall|folder|gateway|group|image|instance|interface|job|key|lease|link|listener|lock|lookup|" +
  "machine|namespace|NAT|network|object|packet|pair|peering|picture|plan|pod|policy|policies|pool|port|process|program|queue|range|record|registry|repository|" +
  "resource|role|route|router|rule|sandbox|secret|server|session|snapshot|socket|state|subnet|table|temporary|token|tunnel|user|volume|VPC|zone";

export const words = [
  // Verbs of the dialect.
  {
    find: /\b(tell|tells|told|telling)\b/,
    use: "report, print, log, show, return or distinguish",
    bad: ["The agent tells its state.", "No finding is told.", "It can tell them apart."],
    good: ["The agent reports its state.", "Intellectual property."],
  },
  {
    find: /(?<!\b(you|to|please|and|then|or) )\b(asks?|asked|asking)\b(?! (your|an?|the) (administrator|admin|owner|maintainers?|operator|team))/,
    use: "request, query or prompt",
    bad: ["It asks the API for the subnet.", "The kernel that was asked for is unavailable.", "Each pod asks twice."],
    good: ["It requests the subnet.", "A task.", "Ask your administrator for the role."],
  },
  {
    find: /\b(goes|go|went|gone|going) on\b(?! (the|an?|each|every|its|this|that|port|code)\b)/,
    use: "continue",
    bad: ["It goes on with the next peer.", "A host that did not forward before goes on not to."],
    good: ["It continues with the next peer.", "The tag goes on the subnet."],
  },
  {
    find: /\b(gives?|gave|given|giving)( \w+)? back\b/,
    use: "release or return",
    bad: ["The pod gives back its lease.", "The address is given back.", "It gives it back."],
    good: ["The pod releases its lease.", "It gives access."],
  },
  {
    find: /\bh(?:olds?|eld|olding)( (it|them|this|that|these|those|each|what|every \w+|the \w+))? to\b(?! \d)/,
    use: "validate against",
    bad: ["The file is held to the schema.", "It holds them to the limit."],
    good: ["The file is validated against the schema.", "The table holds up to 4096 entries."],
  },
  {
    find: /\b(stands?|stood|standing) (in|at|on|behind|beside|before|inside|under|where|there|here)\b/,
    use: "is in, runs in or is next to",
    bad: ["The gateway stands in the hub.", "Where the client stands in a spoke."],
    good: ["The gateway runs in the hub.", "It stands for a range.", "A stand-in for the API."],
  },
  {
    find: /\b(lies?|lay|lain|lying) (in|at|on|behind|beside|before|inside|under|below|above|beneath|where|there|here|between|outside|within)\b/,
    use: "is in, is stored in or is between",
    bad: ["The key lies in SSM.", "The range lies outside the pool."],
    good: ["The key is stored in SSM.", "The range is outside the pool.", "It relies on SSM."],
  },
  {
    find: /\b(made good|makes? good|making good)\b/,
    use: "compensate for, or name what takes over",
    bad: ["One failure is not made good by another's success."],
    good: ["No other partner takes over."],
  },
  {
    find: /\b(felt|feels?)\b/,
    use: "notice, or name what was observed",
    bad: ["No client felt it."],
    good: ["No client noticed."],
  },
  {
    find: /(?<!\b(you|we|they|users?|who|teams?|someone|anyone|people|engineers?|reviewers?) )(?<!\b(?:you|we|they|who) (?:also|really|only|still) )\bwants?\b(?! to know)/,
    use: "need, require or expect",
    bad: ["The API wants a region."],
    good: ["The API requires a region.", "If you want a region, set it.", "Teams want a region."],
  },
  {
    find: /\b(?:may|can|could|do|does|did|must) do without\b|\b(?:do|does|did) without\b/,
    use: "optional, or does not need",
    bad: ["One of two may do without.", "A pod does without UDP."],
    good: ["It is optional.", "It works without UDP."],
  },
  {
    find: /\b(cannot|can|could|may|must|to) be had\b/,
    use: "is available or is unavailable",
    bad: ["The kernel that cannot be had is an error.", "It is to be had there."],
    good: ["The kernel is unavailable."],
  },
  {
    find: /\btak(?:es|ing) (?:an?|the|its|his|what|whatever|one|only|any|all|both|either|no|these|those|them|it|none|names?|values?)\b(?! (?:part|few|while|look|snapshot|lock|long|minute|second|hour|day|backup|lot|moment|risk|default|average|minimum|maximum|difference|time|longer|more|or two|over))/,
    use: "accept, use or select",
    bad: ["The flag takes a region.", "The command takes the first."],
    good: ["The flag accepts a region.", "It takes effect.", "It takes a few seconds.", "The second one takes over.", "It takes no part in the decision."],
  },
  {
    find: /\b(?:is|are|was|were|be|been|being|it)(?: (?:never|not|then|also|only|always|already|still))? taken\b(?! (?:over|from|into account|place|down|together|up|care|out))/,
    use: "in use, used, accepted or selected",
    bad: ["The name is taken already.", "It is never taken by default."],
    good: ["The name is already in use.", "The address is taken from the pool."],
  },
  {
    find: new RegExp(`\\b(?:makes?|made|making) (?:(?:an?|the|its|their|this|these|one|two|no|any|new|temporary|both|its own|all) ){0,2}(?:[\\w-]+ )?(?:${nouns})s?\\b(?! (?:available|unavailable|reachable|unreachable|visible|public|private|known|usable|unusable|work|fail|appear|look|easier|easy|impossible|possible|executable|readable|writable|redundant|wait|start|stop|run|use|send|return|reach|retry|reload|necessary|safe|unsafe|invalid|valid|\\w+er|more|less|ready))`),
    use: "create or generate",
    bad: ["The module makes a VPC.", "It makes the route table.", "The object was made by another owner's file, which made a token."],
    good: ["The module creates a VPC.", "That makes the subnet unreachable.", "Make the binary executable.", "It makes the pod wait.", "It makes sure that it works.", "It makes no difference."],
  },
  {
    find: /\b(?:brings?|brought|bringing) (?:(?:it|them|this|that|the \w+|each|every \w+|all) )?(?:to|into)\b(?! (?:light|attention))/,
    use: "reconcile with, converge to, or update to",
    bad: ["The next apply brings it to the plan.", "The table is brought to the new state."],
    good: ["The next apply updates it to match the plan.", "It brings up the interface."],
  },
  {
    find: /\blook(?:s|ed|ing)? (?:again|anew|every|once|twice)\b/,
    use: "read, refresh or poll",
    bad: ["The provider looks again after a second."],
    good: ["The provider polls every second."],
  },
  {
    find: /\b(?:killed|killing) (?:an? |the )?(?:apply|applies|plan|destroy|run)\b/,
    use: "interrupted apply",
    bad: ["A killed apply can be applied again."],
    good: ["An interrupted apply can simply be re-run."],
  },
  {
    find: /\b(?:hands?|handed|handing)(?: \w+)? (?:on|out)\b(?! code)/,
    use: "pass, forward, assign or issue",
    bad: ["The gateway hands out addresses.", "It is handed on to the peer."],
    good: ["The gateway assigns addresses."],
  },

  // Nouns of the dialect.
  {
    find: /\bpatience\b/,
    use: "timeout",
    bad: ["Its patience is ten minutes."],
    good: ["Its timeout is ten minutes."],
  },
  {
    find: /(?<!\b(?:be|very|so) )\bkinds?\b/,
    use: "type, mode or class",
    bad: ["Two kinds of tokens.", "Objects of this kind."],
    good: ["Two types of tokens.", "The `kind` field.", "Be kind."],
  },
  {
    find: /\bfigures?\b(?! out\b)(?! \d)/,
    use: "measurement, metric, number or result",
    bad: ["The figures of a pod.", "This figure is an estimate."],
    good: ["The metrics of a pod.", "Figure out the path.", "See figure 1."],
  },
  {
    find: /\b(?:the|a|an|its|their|this|that|one|another|same|other|each|every|which|no|free|some|any|two|three|these|those|first|last|right|wrong|such|many|several|in|own) places?\b(?!holder)(?<!\bin place)(?<!\bthe first place)(?! (?:of work))|\bplaces (?:where|that|in|of)\b/,
    use: "location, slot, or replaces",
    bad: ["A netstack takes the place of the interface.", "It is stored in two places.", "A place where keys are kept."],
    good: ["A netstack replaces the interface.", "Updated in place.", "Place the file next to it.", "The change takes place.", "In the first place."],
  },
  {
    find: /\b(?:its|their|whose|his|\w+'s|last|own) words?\b/,
    use: "value or term",
    bad: ["The owner's word counts.", "Its word is final."],
    good: ["The owner's value applies.", "A password."],
  },
  {
    find: /\bways (?:are|is|have|has|lead|end|in|out|back|to|between|from|over|through|of)\b|\b(?:a|the|its|this|other|second|shorter|longer|only|direct|another|that|which) way (?:out|back|there|between|from|over|through)\b|\b(?:both|either|neither|two|other|all) ways?\b/,
    use: "path, route, direction or method",
    bad: ["Ways are fixed.", "The way back is blocked.", "It works both ways."],
    good: ["Routes are static.", "It works in both directions.", "A way to install it.", "Always."],
  },
  {
    find: /\b(?:nobody|somebody|everybody|no one|whoever|whosoever|no-one)\b/,
    use: "name the subject: no client, no process, anyone who, the holder",
    bad: ["Nobody felt the restart.", "Whoever holds it may use it.", "No one reads it."],
    good: ["No client noticed the restart.", "It is a bearer token."],
  },
  {
    find: /(?<!\b(?:this|that|which|each|every|no|the|any|only|old|new|other|another|either|first|second|last|next|one|a|more|least|most|local|remote|\w+er|`|code|larger|own) )\bone (?:may|can|must|should|wants|would|needs to|has to|cannot)\b/,
    use: "you can, or name the subject",
    bad: ["One may leave it out."],
    good: ["You can omit it.", "The second one can fail."],
  },

  // Constructions of the dialect.
  {
    find: /\bat hand\b|\bto hand\b/,
    use: "available",
    bad: ["No kernel with WireGuard was at hand."],
    good: ["No kernel with WireGuard was available."],
  },
  {
    find: /\bby (?:itself|themselves|himself)\b/,
    use: "automatically, alone or on its own",
    bad: ["It is never selected by itself."],
    good: ["It is never selected automatically.", "It disables itself."],
  },
  {
    find: /\b(?:that|those|this) which\b/,
    use: "the one that, or name the object",
    bad: ["It uses that which is nearest."],
    good: ["It uses the nearest one."],
  },
  {
    find: /^\W*(?:(?:And|But|So|Or|For|Then|Thus),? )?What\b(?!['’]s\b)[^?]*\b(?:is|are|was|were|has|have|had|does|do|did|can|cannot|may|must|needs?|goes|gets|comes|counts|remains|follows|holds|stays|works)\b[^?]*[.;:]\W*$|[;:] what\b[^?]*,? (?:is|are|was|were|has) [^?]*[.;]\W*$/,
    use: "subject first: say who does what",
    bad: ["What the rest is was not analysed.", "What is not listed is denied.", "What peers have in `AllowedIPs` is reached through the tunnel."],
    good: ["The remainder was not analysed.", "What is denied?", "It shows what is missing.", "What's new."],
  },
  {
    find: /^\W*(?:Who|Whose|Whom)\b[^?]*[.;]\W*$/,
    use: "anyone who, non-root users, or name the subject",
    bad: ["Who has it may use it.", "Who is not root has no interface."],
    good: ["It is a bearer token.", "Non-root users get no interface.", "Who uses it?"],
  },
  {
    find: /\bhowever (?:that|often|it|they|long|many|much|large|small|this|one|the)\b/,
    use: "even if, or regardless of how",
    bad: ["It stays, however often that joins again.", "However that ends, it is logged."],
    good: ["It stays, even if the pod re-enrols.", "However, it is logged."],
  },
  {
    find: /\bwhere (?:it|they|this|one|that|he) may\b/,
    use: "if it has permission",
    bad: ["The gateway uses NAT where it may tell the kernel to."],
    good: ["The gateway uses NAT if it has permission."],
  },
  {
    find: /(?<!\b(?:default|goal|purpose|way|aim|idea|point|option|options|alternative|choice|intent|job|step|solution|fix|task|result|method|approach|remedy) )\b(?:is|are|was|were) to (?:be|have|reach|go|stay|come|get|hold|keep|leave|lie|stand|become|see|use|know|run|work|make|serve|answer|read|write|send|pass)\b/,
    use: "must, needs to, should or will",
    bad: ["The network that pods are to reach.", "The port that is to be open."],
    good: ["The network that pods need to reach.", "The default is to run it.", "It is due to be removed."],
  },
  {
    find: /(?<!\b(?:there|it) )\b(?:is|are|was|were) no (?!longer\b|more\b|less\b|different\b|better\b|worse\b|fewer\b|later\b|earlier\b|larger\b|greater\b|smaller\b|\w+er than\b|one\b|in\b|such\b)(?!\w+ (?:for|to|in|at|on|that|of|between|left|here|there|yet) (?!code))/,
    use: "is not a",
    bad: ["`x` is no region.", "These are no ranges."],
    good: ["`x` is not a region.", "There is no region.", "It is no longer used."],
  },
  {
    find: /\bbeside\b/,
    use: "next to, alongside or in addition to",
    bad: ["The agent runs beside the program."],
    good: ["The agent runs alongside the program.", "Besides, it is fast."],
  },
  {
    find: /\bonce only\b/,
    use: "only once",
    bad: ["A token works once only."],
    good: ["A token works only once."],
  },
  {
    find: /\b(?:and )?the like\b/,
    use: "similar, or list the items",
    bad: ["RunPod and the like."],
    good: ["RunPod and similar clouds.", "The likely cause."],
  },
  {
    find: /\b(?:anew|afresh|hitherto|henceforth|lest|whence|thence|hence|hereby|thereby|therein|thereof|thereto|thereupon|wherein|whereof|whereupon|whereby|albeit|amongst|whilst|till|aught|naught|nought|in vain|ere|alas)\b/,
    use: "a plain word: again, so that, from which, which, among, while, until",
    bad: ["It is read anew.", "It waits till the lease ends.", "Amongst others."],
    good: ["It is read again.", "It waits until the lease ends.", "It still waits."],
  },
  {
    find: /\b(?:for all that|all the same|as good as|come what may|to and fro|so to speak|as it were)\b/,
    use: "a plain sentence",
    bad: ["It is as good as gone."],
    good: ["It is almost gone.", "It behaves as it would on Linux."],
  },

  // One term for one thing.
  {
    find: /(?<![\w.`$%{/-])(?:Ids?|id|ids)(?![\w`=({/]|[.:]\w| =|-\w)/,
    exact: true,
    use: "ID or IDs",
    bad: ["Id of the VPC.", "The id of a subnet.", "Ids of subnets."],
    good: ["ID of the VPC.", "IDs of subnets.", "`id` of the subnet.", "The idle timeout."],
  },
  {
    find: /\b(?:Url|url|urls|Urls|Ip|Ips|Cidr|cidr|Dns|Vpc|vpc|vpcs|Api|api|Cpu|cpu|cpus|Iam|Ssh|Tls|Udp|Tcp)\b(?![.=_/(:-])(?<![.`$_/-]\w{2,4})/,
    exact: true,
    use: "capital letters: URL, IP, CIDR, DNS, VPC, API, CPU, IAM, SSH, TLS, UDP, TCP",
    bad: ["The url of the registry.", "The vpc is gone."],
    good: ["The URL of the registry.", "URLs are checked.", "`vpc` is gone.", "The VPCs are gone."],
  },
  {
    find: /\bCIDRs? (?:block )?(?:notation )?range in CIDR\b|\bChanges in place\b|\bchanged in place\b|\bChange in place\b/,
    use: "Updated in place.",
    bad: ["Changes in place."],
    good: ["Updated in place."],
  },
  {
    find: /\b(?:a change|changes?|changing it|changed) replaces? (?:it|the|them)\b|\bReplaces when changed\b/,
    use: "Changing this replaces the (subnet).",
    bad: ["A change replaces the subnet."],
    good: ["Changing this replaces the subnet."],
  },
  {
    find: /(?<!\w)(?:e\.g\.|i\.e\.|viz\.|resp\.|cf\.)/,
    use: "for example, that is, respectively, compare",
    bad: ["Some clouds, e.g. AWS."],
    good: ["Some clouds, for example AWS."],
  },
  {
    find: /\b(?:outside of|inside of|in order to|utili[sz]e[sd]?|prior to|due to the fact|in the event (?:that|of)|with (?:regard|respect) to|(?:is|are) able to|at this point in time|a majority of|for the purpose of)\b/,
    use: "outside, inside, to, use, before, because, if, about, can, now, most, for",
    bad: ["It was deleted outside of Terraform.", "In order to connect, it is able to dial out."],
    good: ["It was deleted outside Terraform.", "It can dial out to connect."],
  },
  {
    find: /\b(?:by default|default): code\b/,
    use: "Defaults to",
    bad: ["Whether it is public. Default: `false`."],
    good: ["Whether it is public. Defaults to `false`.", "The default is `a`."],
  },
  {
    find: /\blongest time (?:of|for|that|a|to)\b/,
    use: "Timeout for",
    bad: ["Longest time of a create, such as `90s`."],
    good: ["Timeout for creating the resource, such as `90s`."],
  },
  {
    find: /\bof (?:yours|ours|theirs)\b/,
    use: "your, our or their",
    bad: ["An Elastic IP address of yours."],
    good: ["Your Elastic IP address.", "A key of its own."],
  },
  {
    find: /(?<!\bthere )\b(?:is|are|was|were) none\b/,
    use: "is missing, or is not set",
    bad: ["The host of the request is none."],
    good: ["The host of the request is missing.", "If there is none, it fails."],
  },
  {
    find: /\bas (?:many|much|often|long)(?: \w+)? as (?:may|can|is|are|it may|there are)\b/,
    use: "the maximum, all, or a number",
    bad: ["It has as many peers as may join."],
    good: ["It has the maximum number of peers.", "It works as long as the lease is valid."],
  },
];
