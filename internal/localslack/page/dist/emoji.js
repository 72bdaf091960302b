// A small map of the names people and bots use most; an unknown name stays as :name:.
const TABLE = `grinning 😀 smile 😄 smiley 😃 grin 😁 laughing 😆 joy 😂 rofl 🤣 slightly_smiling_face 🙂 wink 😉 blush 😊 heart_eyes 😍 thinking_face 🤔 neutral_face 😐
expressionless 😑 sweat_smile 😅 cry 😢 sob 😭 angry 😠 rage 😡 sunglasses 😎 nerd_face 🤓 scream 😱 sleeping 😴 face_with_rolling_eyes 🙄 hugging_face 🤗 upside_down_face 🙃 zipper_mouth_face 🤐
ghost 👻 robot_face 🤖 skull 💀 alien 👽 poop 💩 wave 👋 +1 👍 thumbsup 👍 -1 👎 thumbsdown 👎 clap 👏 raised_hands 🙌 pray 🙏 muscle 💪 ok_hand 👌 point_right 👉 point_left 👈 point_up ☝️ point_down 👇
handshake 🤝 writing_hand ✍️ eyes 👀 brain 🧠 heart ❤️ broken_heart 💔 yellow_heart 💛 green_heart 💚 blue_heart 💙 purple_heart 💜 sparkles ✨ star ⭐ star2 🌟 fire 🔥 boom 💥 zap ⚡ tada 🎉 confetti_ball 🎊
rocket 🚀 airplane ✈️ car 🚗 bike 🚲 white_check_mark ✅ heavy_check_mark ✔️ ballot_box_with_check ☑️ x ❌ heavy_multiplication_x ✖️ negative_squared_cross_mark ❎ warning ⚠️ no_entry ⛔ no_entry_sign 🚫
question ❓ grey_question ❔ exclamation ❗ bangbang ‼️ information_source ℹ️ bulb 💡 lock 🔒 unlock 🔓 key 🔑 shield 🛡️ mag 🔍 hammer 🔨 wrench 🔧 hammer_and_wrench 🛠️ gear ⚙️ link 🔗 paperclip 📎 scissors ✂️
memo 📝 pencil ✏️ pencil2 ✏️ page_facing_up 📄 clipboard 📋 file_folder 📁 open_file_folder 📂 card_index_dividers 🗂️ calendar 📅 spiral_calendar_pad 🗓️ chart_with_upwards_trend 📈 chart_with_downwards_trend 📉 bar_chart 📊
email 📧 envelope ✉️ incoming_envelope 📨 inbox_tray 📥 outbox_tray 📤 package 📦 bell 🔔 no_bell 🔕 loudspeaker 📢 mega 📣 speech_balloon 💬 thought_balloon 💭 hourglass ⌛ hourglass_flowing_sand ⏳ alarm_clock ⏰
stopwatch ⏱️ clock1 🕐 watch ⌚ sunrise 🌅 sunny ☀️ cloud ☁️ rain_cloud 🌧️ snowflake ❄️ rainbow 🌈 moon 🌔 coffee ☕ tea 🍵 beer 🍺 pizza 🍕 cake 🍰 apple 🍎 taco 🌮 cookie 🍪 bread 🍞
dog 🐶 cat 🐱 bug 🐛 beetle 🪲 snake 🐍 turtle 🐢 octopus 🐙 whale 🐳 crab 🦀 bee 🐝 unicorn_face 🦄 seedling 🌱 evergreen_tree 🌲 four_leaf_clover 🍀 rose 🌹 computer 💻 desktop_computer 🖥️ keyboard ⌨️
phone ☎️ iphone 📱 floppy_disk 💾 camera 📷 movie_camera 🎥 headphones 🎧 art 🎨 books 📚 book 📖 bookmark 🔖 newspaper 📰 moneybag 💰 dollar 💵 euro 💶 credit_card 💳 gem 💎 trophy 🏆 medal 🏅 dart 🎯
house 🏠 office 🏢 hospital 🏥 earth_africa 🌍 earth_americas 🌎 globe_with_meridians 🌐 triangular_flag_on_post 🚩 checkered_flag 🏁 construction 🚧 rotating_light 🚨 sos 🆘 stop_sign 🛑 vertical_traffic_light 🚦
red_circle 🔴 large_orange_circle 🟠 large_yellow_circle 🟡 large_green_circle 🟢 large_blue_circle 🔵 large_purple_circle 🟣 white_circle ⚪ black_circle ⚫ large_green_square 🟩 large_red_square 🟥
arrow_right ➡️ arrow_left ⬅️ arrow_up ⬆️ arrow_down ⬇️ arrows_counterclockwise 🔄 repeat 🔁 rewind ⏪ fast_forward ⏩ double_vertical_bar ⏸️ black_square_for_stop ⏹️ arrow_forward ▶️ new 🆕 free 🆓 ok 🆗
one 1️⃣ two 2️⃣ three 3️⃣ four 4️⃣ five 5️⃣ six 6️⃣ seven 7️⃣ eight 8️⃣ nine 9️⃣ zero 0️⃣ 100 💯 recycle ♻️ heavy_plus_sign ➕ heavy_minus_sign ➖ spaghetti 🍝 sake 🍶 man 👨 woman 👩 baby 👶 busts_in_silhouette 👥`;

const EMOJI = new Map();
{
  const words = TABLE.split(/\s+/);
  for (let i = 0; i + 1 < words.length; i += 2) EMOJI.set(words[i], words[i + 1]);
}

/** emojiOf is the character for a name (skin tones are ignored), or undefined. */
export function emojiOf(name) { return EMOJI.get(String(name).split('::')[0]); }

/** withEmoji replaces known :names: in plain text. */
export function withEmoji(text) {
  return String(text).replace(/:([a-z0-9_+-]+):/g, (whole, name) => EMOJI.get(name) ?? whole);
}

/** searchEmoji lists [name, character] pairs whose name contains the query. */
export function searchEmoji(query, limit = 48) {
  const found = [];
  const seen = new Set();
  for (const [name, char] of EMOJI) {
    if (!name.includes(query) || seen.has(char)) continue;
    seen.add(char);
    found.push([name, char]);
    if (found.length === limit) break;
  }
  return found;
}
